import type {
  CurrentDocument,
  JoinedFields,
  ReferencedEntity,
  Store,
  StoredDocument,
  Write,
  WriteResult,
} from '../../services/projector/materialize/store.ts';
import { mongoSweepStore, type SweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { type Data, emptyData, envelopeOf, memoryStore } from '../simulation/memory-store.ts';
import { memorySweepStore } from '../simulation/memory-sweep-store.ts';
import { storedDocument } from '../support/engine.ts';
import { size } from '../support/long.ts';
import { createRandom, type Random } from '../support/random.ts';
import { useEngineStore } from './engine-store.ts';

const usedKinds = ['channel', 'conversation', 'message'] as const;
const randomId = (random: Random, kind: string) => `${kind}_${random.int(4)}`;
const randomIds = (random: Random, kind: string) => [
  ...new Set(Array.from({ length: 1 + random.int(8) }, () => randomId(random, kind))),
];
/** Random ids of the last few kinds, or of none. */
const randomIdsByKind = (random: Random) =>
  new Map(usedKinds.slice(random.int(4)).map((kind) => [kind, new Set(randomIds(random, kind))]));
const randomOrgId = (random: Random) => (random.chance(0.8) ? 'org_1' : 'org_2');
const randomChannel = (random: Random) => ({ id: randomId(random, 'channel'), orgId: randomOrgId(random) });
const randomDate = (random: Random) => new Date(random.int(5) * 1_000);
const randomPosition = (random: Random) => ({ partition: 0, offset: random.int(9), timestampMs: 1 });
const randomRef = (random: Random) =>
  random.pick(['channel:channel_1', 'channel:channel_2', 'tags:channel_1']);
const maybe = <T extends object>(random: Random, fields: T) => (random.chance(0.5) ? fields : {});
const byId = <T extends { _id: string }>(documents: T[]) =>
  documents.toSorted((a, b) => (a._id < b._id ? -1 : 1));

/** A random document of the engine or the sweep: living, deleted, or purged with or without its references. */
function randomDocument(random: Random, kind: Kind, _id: string, revision: number): StoredDocument {
  const createdAt = randomDate(random);
  const dataRetentionDays = random.pick([null, 0, 3]);
  const refs = [randomRef(random), `contact:${randomId(random, 'con')}`];
  const state = {
    id: _id,
    title: 'Broken',
    createdAt,
    updatedAt: randomDate(random),
    ...(kind === 'channel' && { dataRetentionDays }),
    ...(kind === 'conversation' && {
      ticketId: randomId(random, 'ti'),
      channelId: randomId(random, 'channel'),
    }),
    ...(kind === 'message' && { conversationId: randomId(random, 'conversation') }),
  };
  const living = storedDocument(state, {
    ...{
      orgId: randomOrgId(random),
      version: random.int(2),
      revision,
      position: randomPosition(random),
      refs,
    },
    byCreated: createdAt.toISOString() + _id,
    ...maybe(random, { fanOutCursor: { from: 'ticket', edge: 'conversations', after: 'ti_5' } }),
    ...maybe(random, { tombstonePosition: randomPosition(random) }),
    ...maybe(random, { pending: true }),
    ...maybe(random, { orphanedAt: randomDate(random) }),
  });
  const envelope = { ...envelopeOf(living), expiresAt: new Date('2100-01-01') };
  const deleted = {
    ...envelope,
    deletedAt: randomDate(random),
    ...(dataRetentionDays && { dataRetentionDays }),
  };
  return random.pick([living, living, living, deleted, { ...envelope, ...maybe(random, { refs }) }]);
}

/** A random write with the stored revision as its guard, or with a different one. */
function randomWrite(random: Random, data: Data, kind: Kind, _id: string): Write {
  const stored = data.get(kind)?.get(_id);
  const guard = random.chance(0.7) ? (stored?.revision ?? null) : random.pick([null, 1, 7]);
  const document = randomDocument(random, kind, _id, (guard ?? 0) + 1);
  if (guard === null || !stored?.state || random.chance(0.5)) return { op: 'put', document, guard };
  return { op: 'join', document: randomJoin(random, kind, document), guard };
}

/** A join with the references, the marks and the tombstone of a document. */
function randomJoin(random: Random, kind: Kind, document: StoredDocument): JoinedFields {
  const { _id, revision, refs = [], pending, orphanedAt, tombstonePosition } = document;
  const position = randomPosition(random);
  // A join may meet no document: a fail-over has rolled the document back, or an operator has dropped its generation.
  const metId = random.chance(0.9) ? _id : `${kind}_gone`;
  const fields: JoinedFields = { _id: metId, revision, refs, position, joined: { channel: null } };
  if (pending) fields.pending = pending;
  if (orphanedAt) fields.orphanedAt = orphanedAt;
  if (tombstonePosition) fields.tombstonePosition = tombstonePosition;
  return fields;
}

type ReadPage<T> = (after: string) => Promise<{ items: T[]; next: string | null }>;

/** Reads all pages from a key on, and returns their items. */
async function readPages<T>(readPage: ReadPage<T>, from = ''): Promise<T[]> {
  const allItems: T[] = [];
  let after: string | null = from;
  while (after !== null) {
    const { items, next }: { items: T[]; next: string | null } = await readPage(after);
    allItems.push(...items);
    after = next;
  }
  return allItems;
}

const readDependents = (store: Store, kind: Kind, ref: string, from = '') =>
  readPages(async (after) => {
    const { ids, next } = await store.findDependentsPage(kind, ref, after);
    return { items: ids, next };
  }, from);

/** Returns the documents of each read. The store bounds the memory of one read, so large documents need several. */
async function readDocuments(store: Store, kind: Kind, ids: string[]): Promise<CurrentDocument[][]> {
  const reads: CurrentDocument[][] = [];
  let remaining = ids;
  while (remaining.length > 0) {
    const read = await store.readCurrent(kind, remaining);
    reads.push(read.documents);
    remaining = read.remaining;
  }
  return reads;
}

type Stores = { store: Store; sweepStore: SweepStore };

/**
 * The calls of the stores, with random arguments. A call reads every page, since the pages of the two stores differ in
 * size.
 */
const calls: { [name: string]: (stores: Stores, random: Random, data: Data) => Promise<unknown> } = {
  write: ({ store }, random, data) => {
    const kind = random.pick(usedKinds);
    const writes = randomIds(random, kind).map((id) => randomWrite(random, data, kind, id));
    return store.write(kind, writes);
  },
  saveFanOutCursor: ({ store }, random) => {
    const kind = random.pick(usedKinds);
    const id = randomId(random, kind);
    const tombstonePosition = random.chance(0.3) ? randomPosition(random) : undefined;
    const entity = { id, version: random.int(2), tombstonePosition, isDeleted: random.chance(0.3) };
    const cursor = random.pick([null, { from: 'message' as const, edge: 'channel', after: 'msg_6' }]);
    return store.saveFanOutCursor(kind, entity, cursor);
  },
  readCurrent: async ({ store }, random) => {
    const kind = random.pick(usedKinds);
    return byId((await readDocuments(store, kind, randomIds(random, kind))).flat());
  },
  readEnvelopes: async ({ store }, random) => {
    const kind = random.pick(usedKinds);
    return byId(await store.readEnvelopes(kind, randomIds(random, kind)));
  },
  readEntities: async ({ store }, random) => {
    const entities = await store.readEntities(randomIdsByKind(random));
    const fields = ({ _id, orgId, revision, deletedAt, state }: ReferencedEntity) => ({
      _id,
      orgId,
      revision,
      deletedAt,
      state,
    });
    return usedKinds.map((kind) => byId([...(entities.get(kind)?.values() ?? [])]).map(fields));
  },
  readRevisions: async ({ store }, random) => {
    const revisions = await store.readRevisions(randomIdsByKind(random));
    return usedKinds.map((kind) => Object.fromEntries(revisions.get(kind) ?? []));
  },
  readFirstChildren: async ({ store }, random) => {
    const max = 1 + random.int(3);
    const parents = new Map(randomIds(random, 'ti').map((id) => [id, randomOrgId(random)]));
    const { children } = await store.readFirstChildren(
      'conversation',
      { parentField: 'ticketId', max },
      parents,
    );
    return [...parents.keys()].map((id) => children.get(id) ?? []);
  },
  findDependents: async ({ store }, random) => {
    const kind = random.pick(usedKinds);
    const refs = [randomRef(random), randomRef(random)];
    const dependentsByRef = await Promise.all(refs.map((ref) => readDependents(store, kind, ref)));
    const uniqueIds = [...new Set(dependentsByRef.flat())];
    // The store returns null if the dependents exceed its limit.
    return ((await store.findDependents(kind, refs)) ?? uniqueIds).toSorted();
  },
  findDependentsPage: ({ store }, random) =>
    readDependents(
      store,
      random.pick(usedKinds),
      randomRef(random),
      random.pick(['', 'conversation_1', 'message_2']),
    ),
  readChannels: ({ sweepStore }, random) =>
    readPages(
      async (after) => {
        const items = await sweepStore.readChannels(after);
        return { items, next: items.at(-1)?.id ?? null };
      },
      random.pick(['', randomId(random, 'channel')]),
    ),
  readRetention: ({ sweepStore }, random) => sweepStore.readRetention(randomId(random, 'channel')),
  readConversations: ({ sweepStore }, random) => {
    const channel = randomChannel(random);
    const createdUpTo = random.pick([null, randomDate(random)]);
    return readPages(async (after) => {
      const items = await sweepStore.readConversations(channel, after, createdUpTo);
      return { items, next: items.at(-1)?.key ?? null };
    });
  },
  readExpiredMessages: async ({ sweepStore }, random) =>
    byId(
      await sweepStore.readExpiredMessages(
        randomOrgId(random),
        randomIds(random, 'conversation'),
        randomDate(random),
      ),
    ),
  readWithMessages: ({ sweepStore }, random) =>
    sweepStore.readIdsWithMessages(randomOrgId(random), randomIds(random, 'conversation')),
  readOrphans: async ({ sweepStore }, random) => byId(await sweepStore.readOrphans(randomDate(random))),
  waitAgain: async ({ sweepStore }, random) => {
    const orphans = await sweepStore.readOrphans(randomDate(random));
    const fields = { orphanedAt: randomDate(random), revision: 1 + random.int(9) };
    await sweepStore.waitAgain(byId(orphans), randomDate(random), fields);
  },
};

/** A write reports the ids of conflicted writes with details that name collections. Only the ids are comparable. */
const comparable = (result: unknown): unknown =>
  typeof result === 'object' && result !== null && 'conflicted' in result
    ? { ...result, conflicted: [...(result as WriteResult).conflicted.keys()].toSorted() }
    : result;

/** The simulation proves the engine on stores in memory. The proof is worthless if MongoDB answers differently. */
describe('the stores of the engine and of the sweep', () => {
  const opened = useEngineStore();

  test('return the same results from MongoDB and from memory', async () => {
    const { database, control, store } = opened;
    const data = emptyData();
    const random = createRandom(1);
    const memoryStores = {
      store: memoryStore(data),
      sweepStore: memorySweepStore(data, new Set(), undefined, { pageSize: 9 }),
    };
    const sweepStore = mongoSweepStore({ database, control, prefix: 'support.', now: () => new Date() });
    for (let step = 0; step < size(1_500, 15_000); step += 1) {
      const name = random.chance(0.2) ? 'write' : random.pick(Object.keys(calls));
      const seed = random.int(2 ** 31);
      const fromMongo = comparable(await calls[name]?.({ store, sweepStore }, createRandom(seed), data));
      const fromMemory = comparable(await calls[name]?.(memoryStores, createRandom(seed), data));
      expect({ step, name, result: fromMongo }).toEqual({ step, name, result: fromMemory });
    }
    for (const kind of usedKinds) {
      const inMongo = await collectionOf<StoredDocument>(database, kind).find().toArray();
      const inMemory = [...(data.get(kind)?.values() ?? [])];
      expect(byId(inMongo)).toEqual(byId(inMemory));
    }
  });

  test('return large documents in several reads of bounded size', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `tag_${10 + index}`);
    const name = 'x'.repeat(900_000);
    for (const id of ids)
      await opened.store.write('tag', [{ op: 'put', document: storedDocument({ id, name }), guard: null }]);
    const reads = await readDocuments(opened.store, 'tag', [...ids, 'tag_none']);
    const largestRead = Math.max(...reads.map(({ length }) => length)) * name.length;
    expect(largestRead).toBeLessThan(17 * 1024 * 1024);
    // then each document comes once
    expect(reads.flatMap((documents) => documents.map(({ _id }) => _id)).toSorted()).toEqual(ids);
  });
});
