import type { Db } from 'mongodb';
import { progressOf, watermark } from '../../../shared/control/progress.ts';
import type { ConversationDocument } from '../../../shared/documents/conversation.ts';
import { type EntityState, type Kind } from '../../../shared/documents/resources.ts';
import type { TicketJoined } from '../../../shared/documents/ticket.ts';
import {
  embeddedConversation,
  embeddedFields,
  isShown,
  type StoredConversation,
  visibilityFields,
} from '../../../shared/documents/visibility.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import type { StoredDocument } from '../../projector/materialize/store.ts';
import type { PairSource } from './compare.ts';
import { type ComparedDocument, comparedFields, markUnreadable, type Pair } from './differences.ts';

/** The number of documents in one batch. It keeps the memory in the tens of megabytes. */
const batchSize = 200;

const documents = (database: Db, kind: Kind, filter: object, limit = 0) =>
  collectionOf<StoredDocument>(database, kind)
    .find(filter, { projection: comparedFields, batchSize: batchSize + 1, limit })
    .sort({ _id: 1 })
    .map(markUnreadable);

/** Reads all documents page by page: a cursor that is killed, or a fail-over, costs one page at most. */
async function* allDocuments(database: Db, kind: Kind): Documents {
  let after = '';
  let read: number;
  do {
    read = 0;
    for await (const document of documents(database, kind, { _id: { $gt: after } }, batchSize)) {
      yield document;
      after = document._id;
      read += 1;
    }
  } while (read === batchSize);
}

/** One side of a comparison: a generation and its database. */
export type Side = { database: Db; number: number };

/** Pairs of a build (`actual`) and the active generation (`expected`). */
export function betweenGenerations({ control }: { control: Db }, active: Side, built: Side): PairSource {
  const some = ({ database }: Side, kind: Kind, ids: string[]) =>
    documents(database, kind, { _id: { $in: ids } });
  return {
    scan: (kind) => batches(merged(allDocuments(active.database, kind), allDocuments(built.database, kind))),
    reread: (kind, ids) => Array.fromAsync(merged(some(active, kind, ids), some(built, kind, ids))),
    asPresented: (kind, some, now) => {
      const expected = some.flatMap((pair) => pair.expected ?? []);
      const actual = some.flatMap((pair) => pair.actual ?? []);
      const before = presented(active.database, kind, expected, now);
      return Array.fromAsync(merged(before, presented(built.database, kind, actual, now)));
    },
    watermarks: () => Promise.all([active, built].map(({ number }) => appliedTo(control, number))),
  };
}

/**
 * The watermark, but an open transaction does not hold it: a partition that waits for one counts as applied up to the
 * last save of its progress. Otherwise one hanging producer would prevent every comparison.
 */
export async function appliedTo(control: Db, generation: number): Promise<Date> {
  const [raised, partitions] = await Promise.all([
    watermark(control, generation),
    progressOf(control).find({ generation }).toArray(),
  ]);
  const instants = partitions.map(({ saved, completeTo, updatedAt }) =>
    Number(saved?.cause === 'open_transaction' ? updatedAt : completeTo),
  );
  return new Date(Math.max(Number(raised), instants.length > 0 ? Math.min(...instants) : 0));
}

/** Documents as the API presents them, if that depends on other documents. */
async function* presented(database: Db, kind: Kind, found: ComparedDocument[], now: Date) {
  if (kind === 'message') yield* await readableMessages(database, found, now);
  else if (kind === 'ticket') {
    for (const ticket of found) yield await withAllConversations(database, ticket);
  } else yield* found;
}

type Documents = AsyncIterable<ComparedDocument, void, void>;

/** Merges two streams in the order of their ids. */
async function* merged(before: Documents, after: Documents): AsyncGenerator<Pair> {
  const left = before[Symbol.asyncIterator]();
  const right = after[Symbol.asyncIterator]();
  const next = (side: typeof left) => side.next().then(({ done, value }) => (done ? null : value));
  let expected = await next(left);
  let actual = await next(right);
  while (expected || actual) {
    const order = orderOf(expected, actual);
    yield { expected: order <= 0 ? expected : null, actual: order >= 0 ? actual : null };
    if (order <= 0) expected = await next(left);
    if (order >= 0) actual = await next(right);
  }
}

async function* batches<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < batchSize) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

/** Negative if the lower id is only in `expected`, positive if it is only in `actual`. MongoDB orders ids by bytes. */
function orderOf(expected: ComparedDocument | null, actual: ComparedDocument | null): number {
  if (!expected || !actual) return expected ? -1 : 1;
  if (expected._id === actual._id) return 0;
  return Buffer.compare(Buffer.from(expected._id), Buffer.from(actual._id));
}

/**
 * A ticket with all its conversations, up to 100,000. The API reads the conversations that the ticket does not embed
 * from their own collection. Two generations embed different conversations if one generation has purged some.
 */
async function withAllConversations(database: Db, ticket: ComparedDocument): Promise<ComparedDocument> {
  const { moreAfter, ...joined } = (ticket.joined ?? {}) as Partial<TicketJoined>;
  if (typeof moreAfter !== 'string') return { ...ticket, joined };
  const range = { 'state.ticketId': ticket._id, orgId: ticket.orgId, byCreated: { $gt: moreAfter } };
  const further = await collectionOf<ConversationDocument>(database, 'conversation')
    .find(range as object, { projection: embeddedFields, batchSize, hint: 'ticket' })
    .sort({ byCreated: 1 })
    .toArray();
  const conversations = further.flatMap(({ state, joined }) =>
    embeddedConversation(state, (joined as Partial<typeof joined> | undefined)?.channel),
  );
  return {
    ...ticket,
    joined: { ...joined, conversations: [...(joined.conversations ?? []), ...conversations] },
  };
}

/** The messages that the API serves: their conversation is served, and retains them. */
async function readableMessages(database: Db, messages: ComparedDocument[], now: Date) {
  const idOf = ({ state }: ComparedDocument) =>
    (state as Partial<EntityState['message']>)?.conversationId ?? '';
  const filter = { _id: { $in: [...new Set(messages.map(idOf))] }, state: { $exists: true } };
  const found = await collectionOf<StoredConversation & { _id: string }>(database, 'conversation')
    .find(filter, { projection: visibilityFields })
    .toArray();
  const conversations = new Map(found.map((one) => [one._id, one]));
  return messages.filter((message) => {
    if (message.state === undefined) return true;
    const conversation = conversations.get(idOf(message));
    return conversation && isShown(conversation, now, message.state.createdAt as Date);
  });
}
