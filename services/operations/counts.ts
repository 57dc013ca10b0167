import { MongoServerError, type Db } from 'mongodb';
import { type Kind, kinds, resources } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { counted, orMore } from '../../shared/runtime/counted.ts';

export type Counts = Awaited<ReturnType<typeof readCounts>>;

/** Pending conversations are counted up to this number, so that a count is short. */
const countMax = 10_000;
/** MongoDB may search for missing tickets for this long, in milliseconds. No index lists them. */
const ticketsTimeoutMs = 500;
/** MongoDB's code for an operation that `maxTimeMS` ended. */
const maxTimeExpired = 50;

/**
 * How many documents a generation has. MongoDB scans no collection for it, so its work does not grow with the data. Pending
 * are conversations whose channel is missing, up to `countMax`, and missing tickets that conversations refer to.
 */
export async function readCounts(database: Db) {
  const [documents, conversations, tickets] = await Promise.all([
    estimateDocuments(database),
    collectionOf(database, 'conversation').countDocuments({ pending: true }, { limit: countMax }),
    countMissingTickets(database),
  ]);
  return { documents, pending: { conversations, tickets } };
}

/** Estimates by collection, tombstones included. */
export async function estimateDocuments(database: Db): Promise<Record<string, number>> {
  const estimate = async (kind: Kind): Promise<[string, number]> => [
    resources[kind].collection,
    await collectionOf(database, kind).estimatedDocumentCount(),
  ];
  return Object.fromEntries(await Promise.all(kinds.map(estimate)));
}

/** Null if they cannot be counted in time. Both stages before the look-up read the index on tickets alone. */
async function countMissingTickets(database: Db): Promise<number | null> {
  const stages = [
    { $match: { 'state.ticketId': { $gt: '' } } },
    { $group: { _id: '$state.ticketId' } },
    { $lookup: { from: resources.ticket.collection, localField: '_id', foreignField: '_id', as: 'ticket' } },
    { $match: { 'ticket.state': { $exists: false } } },
    { $count: 'tickets' },
  ];
  const found = await collectionOf(database, 'conversation')
    .aggregate<{ tickets: number }>(stages, { maxTimeMS: ticketsTimeoutMs })
    .toArray()
    .catch((error: unknown) => {
      if (error instanceof MongoServerError && error.code === maxTimeExpired) return null;
      throw error;
    });
  return found && (found[0]?.tickets ?? 0);
}

export const pendingText = ({ conversations, tickets }: Counts['pending']): string =>
  `${counted(conversations, 'conversation')}${orMore(conversations, countMax)}, ` +
  (tickets === null ? 'tickets not counted in time' : counted(tickets, 'ticket'));
