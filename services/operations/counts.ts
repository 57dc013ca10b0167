import type { Db } from 'mongodb';
import { type Kind, kinds, resources } from '../../shared/documents/resources.ts';
import { counted, orMore } from '../../shared/runtime/counted.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { type NotCounted, optional } from './optional.ts';

/** Pending conversations are counted up to this number, so that a count is short. */
const countMax = 10_000;
/** MongoDB may search for missing tickets for this long, in milliseconds. No index lists them. */
const ticketsTimeoutMs = 500;

export type Counts = {
  /** Estimates by collection, tombstones included; null if they were not counted. */
  documents: Record<string, number> | null;
  pending: { conversations: number | null; tickets: number | null };
  notCounted: NotCounted[];
};

/**
 * How many documents a generation has. MongoDB scans no collection for it, so its work does not grow with the data.
 * Pending are conversations whose channel is missing, up to `countMax`, and missing tickets that conversations refer
 * to.
 */
export async function readCounts(database: Db): Promise<Counts> {
  const notCounted: NotCounted[] = [];
  const pending = collectionOf(database, 'conversation');
  const [documents, conversations, tickets] = await Promise.all([
    optional(notCounted, 'documents', () => estimateDocuments(database)),
    optional(notCounted, 'pending conversations', () =>
      pending.countDocuments({ pending: true }, { limit: countMax }),
    ),
    // MongoDB before 5.1 refuses a look-up in a sharded collection.
    optional(notCounted, 'pending tickets', () => countMissingTickets(database)),
  ]);
  return { documents, pending: { conversations, tickets }, notCounted };
}

/** Estimates by collection, tombstones included. */
export async function estimateDocuments(database: Db): Promise<Record<string, number>> {
  const estimate = async (kind: Kind): Promise<[string, number]> => [
    resources[kind].collection,
    await collectionOf(database, kind).estimatedDocumentCount(),
  ];
  return Object.fromEntries(await Promise.all(kinds.map(estimate)));
}

/** Both stages before the look-up read the index on tickets alone. */
async function countMissingTickets(database: Db): Promise<number> {
  const stages = [
    { $match: { 'state.ticketId': { $gt: '' } } },
    { $group: { _id: '$state.ticketId' } },
    { $lookup: { from: resources.ticket.collection, localField: '_id', foreignField: '_id', as: 'ticket' } },
    { $match: { 'ticket.state': { $exists: false } } },
    { $count: 'tickets' },
  ];
  const found = await collectionOf(database, 'conversation')
    .aggregate<{ tickets: number }>(stages, { maxTimeMS: ticketsTimeoutMs })
    .toArray();
  return found[0]?.tickets ?? 0;
}

export function pendingText({ conversations, tickets }: Counts['pending']): string {
  const conversationsText =
    conversations === null
      ? 'conversations not counted'
      : `${counted(conversations, 'conversation')}${orMore(conversations, countMax)}`;
  return `${conversationsText}, ${tickets === null ? 'tickets not counted' : counted(tickets, 'ticket')}`;
}
