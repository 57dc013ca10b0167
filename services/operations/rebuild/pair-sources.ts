import type { Db } from 'mongodb';
import { progressOf, readWatermark } from '../../../shared/control/progress.ts';
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
import { type ComparedDocument, comparedFields, type DocumentPair, markUnreadable } from './differences.ts';

/** The number of documents in one batch. It keeps the memory in the tens of megabytes. */
const batchSize = 200;

const findDocuments = (database: Db, kind: Kind, filter: object, limit = 0) =>
  collectionOf<StoredDocument>(database, kind)
    .find(filter, { projection: comparedFields, batchSize: batchSize + 1, limit })
    .sort({ _id: 1 })
    .map(markUnreadable);

/** Reads all documents in batches: a cursor that is killed, or a fail-over, costs one batch at most. */
async function* readAllDocuments(database: Db, kind: Kind): Documents {
  let lastId = '';
  let count: number;
  do {
    count = 0;
    for await (const document of findDocuments(database, kind, { _id: { $gt: lastId } }, batchSize)) {
      yield document;
      lastId = document._id;
      count += 1;
    }
  } while (count === batchSize);
}

/** One side of a comparison: a generation and its database. */
export type GenerationSide = { database: Db; number: number };

/** Creates the source of pairs of a build (`actual`) and the active generation (`expected`). */
export function createPairSource(
  { control }: { control: Db },
  active: GenerationSide,
  built: GenerationSide,
): PairSource {
  const findByIds = ({ database }: GenerationSide, kind: Kind, ids: string[]) =>
    findDocuments(database, kind, { _id: { $in: ids } });
  return {
    scan: (kind) =>
      inBatches(mergePairs(readAllDocuments(active.database, kind), readAllDocuments(built.database, kind))),
    reread: (kind, ids) =>
      Array.fromAsync(mergePairs(findByIds(active, kind, ids), findByIds(built, kind, ids))),
    asPresented: (kind, pairs, now) => {
      const expected = pairs.flatMap((pair) => pair.expected ?? []);
      const actual = pairs.flatMap((pair) => pair.actual ?? []);
      const presentedExpected = readPresented(active.database, kind, expected, now);
      const presentedActual = readPresented(built.database, kind, actual, now);
      return Array.fromAsync(mergePairs(presentedExpected, presentedActual));
    },
    watermarks: () => Promise.all([active, built].map(({ number }) => readAppliedTo(control, number))),
  };
}

/**
 * Reads the watermark as if no transaction were open: a partition that waits for an open transaction counts as applied
 * up to the last save of its progress. Otherwise one hanging producer would prevent every comparison.
 */
export async function readAppliedTo(control: Db, generation: number): Promise<Date> {
  const [savedWatermark, partitions] = await Promise.all([
    readWatermark(control, generation),
    progressOf(control).find({ generation }).toArray(),
  ]);
  const instants = partitions.map(({ saved, completeTo, updatedAt }) =>
    Number(saved?.cause === 'open_transaction' ? updatedAt : completeTo),
  );
  const minimum = instants.length > 0 ? Math.min(...instants) : 0;
  return new Date(Math.max(Number(savedWatermark), minimum));
}

/** Documents as the API presents them, if that depends on other documents. */
async function* readPresented(database: Db, kind: Kind, documents: ComparedDocument[], now: Date) {
  if (kind === 'message') {
    yield* await filterServedMessages(database, documents, now);
  } else if (kind === 'ticket') {
    for (const ticket of documents) yield await withAllConversations(database, ticket);
  } else {
    yield* documents;
  }
}

type Documents = AsyncIterable<ComparedDocument, void, void>;

/** Pairs the documents of two streams by id. Both streams are in the order of their ids. */
async function* mergePairs(
  expectedDocuments: Documents,
  actualDocuments: Documents,
): AsyncGenerator<DocumentPair> {
  const expectedIterator = expectedDocuments[Symbol.asyncIterator]();
  const actualIterator = actualDocuments[Symbol.asyncIterator]();
  const next = async (iterator: typeof expectedIterator) => {
    const { done, value } = await iterator.next();
    return done ? null : value;
  };
  let expected = await next(expectedIterator);
  let actual = await next(actualIterator);
  while (expected || actual) {
    const order = compareIds(expected, actual);
    yield { expected: order <= 0 ? expected : null, actual: order >= 0 ? actual : null };
    if (order <= 0) expected = await next(expectedIterator);
    if (order >= 0) actual = await next(actualIterator);
  }
}

async function* inBatches<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
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
function compareIds(expected: ComparedDocument | null, actual: ComparedDocument | null): number {
  if (!expected || !actual) return expected ? -1 : 1;
  if (expected._id === actual._id) return 0;
  return Buffer.compare(Buffer.from(expected._id), Buffer.from(actual._id));
}

/**
 * Reads a ticket with all its conversations, up to 100,000. The API reads the conversations that the ticket does not
 * embed from their own collection. Two generations embed different conversations if one generation has purged some.
 */
async function withAllConversations(database: Db, ticket: ComparedDocument): Promise<ComparedDocument> {
  const { moreAfter, ...joined } = (ticket.joined ?? {}) as Partial<TicketJoined>;
  if (typeof moreAfter !== 'string') return { ...ticket, joined };
  const range = { 'state.ticketId': ticket._id, orgId: ticket.orgId, byCreated: { $gt: moreAfter } };
  const unembedded = await collectionOf<ConversationDocument>(database, 'conversation')
    .find(range as object, { projection: embeddedFields, batchSize, hint: 'ticket' })
    .sort({ byCreated: 1 })
    .toArray();
  const conversations = unembedded.flatMap((conversation) => {
    const { channel } = (conversation.joined ?? {}) as Partial<typeof conversation.joined>;
    return embeddedConversation(conversation.state, channel);
  });
  return {
    ...ticket,
    joined: { ...joined, conversations: [...(joined.conversations ?? []), ...conversations] },
  };
}

/** Keeps the messages that the API serves: their conversation is served, and its retention includes them. */
async function filterServedMessages(database: Db, messages: ComparedDocument[], now: Date) {
  const idOf = ({ state }: ComparedDocument) =>
    (state as Partial<EntityState['message']>)?.conversationId ?? '';
  const filter = { _id: { $in: [...new Set(messages.map(idOf))] }, state: { $exists: true } };
  const found = await collectionOf<StoredConversation & { _id: string }>(database, 'conversation')
    .find(filter, { projection: visibilityFields })
    .toArray();
  const conversations = new Map(found.map((conversation) => [conversation._id, conversation]));
  return messages.filter((message) => {
    if (message.state === undefined) return true;
    const conversation = conversations.get(idOf(message));
    return conversation && isShown(conversation, now, message.state.createdAt as Date);
  });
}
