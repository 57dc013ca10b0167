import type {
  CurrentDocument,
  ReferencedEntity,
  Store,
  StoredDocument,
  WriteResult,
} from '../../services/projector/materialize/store.ts';
import { mongoSweepStore, type SweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { type Data, emptyData, memoryStore } from '../simulation/memory-store.ts';
import { memorySweepStore } from '../simulation/memory-sweep-store.ts';
import { storedDocument } from '../support/engine.ts';
import { size } from '../support/long.ts';
import { mebibyte } from '../support/memory.ts';
import { createRandom, type Random } from '../support/random.ts';
import { useEngineStore } from './engine-store.ts';
import {
  randomDate,
  randomId,
  randomIds,
  randomOrgId,
  randomPosition,
  randomRef,
  randomWrite,
  usedKinds,
} from './random-writes.ts';

/** Random ids of the last few kinds, or of none. */
const randomIdsByKind = (random: Random) => {
  const lastKinds = usedKinds.slice(random.int(usedKinds.length + 1));
  return new Map(lastKinds.map((kind) => [kind, new Set(randomIds(random, kind))]));
};
const randomChannel = (random: Random) => ({ id: randomId(random, 'channel'), orgId: randomOrgId(random) });
const byId = <T extends { _id: string }>(documents: T[]) =>
  documents.toSorted((a, b) => (a._id < b._id ? -1 : 1));

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
type Call = (stores: Stores, random: Random, data: Data) => Promise<unknown>;

/** The fields of an entity that both stores return; MongoDB leaves out an absent one. */
const comparableEntity = ({ _id, orgId, revision, deletedAt, state }: ReferencedEntity) => ({
  _id,
  orgId,
  revision,
  deletedAt,
  state,
});

/**
 * The calls of the stores, with random arguments. A call reads every page, since the pages of the two stores differ in
 * size.
 */
const calls: Record<string, Call> = {
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
    const reads = await readDocuments(store, kind, randomIds(random, kind));
    return byId(reads.flat());
  },
  readEnvelopes: async ({ store }, random) => {
    const kind = random.pick(usedKinds);
    const envelopes = await store.readEnvelopes(kind, randomIds(random, kind));
    return byId(envelopes);
  },
  readEntities: async ({ store }, random) => {
    const byKind = await store.readEntities(randomIdsByKind(random));
    return usedKinds.map((kind) => {
      const entities = [...(byKind.get(kind)?.values() ?? [])];
      return byId(entities).map(comparableEntity);
    });
  },
  readRevisions: async ({ store }, random) => {
    const revisions = await store.readRevisions(randomIdsByKind(random));
    return usedKinds.map((kind) => Object.fromEntries(revisions.get(kind) ?? []));
  },
  readFirstChildren: async ({ store }, random) => {
    const by = { parentField: 'ticketId', max: 1 + random.int(3) };
    const parents = new Map(randomIds(random, 'ti').map((id) => [id, randomOrgId(random)]));
    const { children } = await store.readFirstChildren('conversation', by, parents);
    return [...parents.keys()].map((id) => children.get(id) ?? []);
  },
  findDependents: async ({ store }, random) => {
    const kind = random.pick(usedKinds);
    const refs = [randomRef(random), randomRef(random)];
    const dependentsByRef = await Promise.all(refs.map((ref) => readDependents(store, kind, ref)));
    const uniqueIds = [...new Set(dependentsByRef.flat())];
    // The store returns null if the dependents exceed its limit.
    const found = (await store.findDependents(kind, refs)) ?? uniqueIds;
    return found.toSorted();
  },
  findDependentsPage: ({ store }, random) => {
    const kind = random.pick(usedKinds);
    const ref = randomRef(random);
    const from = random.pick(['', 'conversation_1', 'message_2']);
    return readDependents(store, kind, ref, from);
  },
  readChannels: ({ sweepStore }, random) => {
    const readPage = async (after: string) => {
      const items = await sweepStore.readChannels(after);
      return { items, next: items.at(-1)?.id ?? null };
    };
    return readPages(readPage, random.pick(['', randomId(random, 'channel')]));
  },
  readRetention: ({ sweepStore }, random) => sweepStore.readRetention(randomId(random, 'channel')),
  readConversations: ({ sweepStore }, random) => {
    const channel = randomChannel(random);
    const createdUpTo = random.pick([null, randomDate(random)]);
    return readPages(async (after) => {
      const items = await sweepStore.readConversations(channel, after, createdUpTo);
      return { items, next: items.at(-1)?.key ?? null };
    });
  },
  readExpiredMessages: async ({ sweepStore }, random) => {
    const orgId = randomOrgId(random);
    const ids = randomIds(random, 'conversation');
    const messages = await sweepStore.readExpiredMessages(orgId, ids, randomDate(random));
    return byId(messages);
  },
  readIdsWithMessages: ({ sweepStore }, random) =>
    sweepStore.readIdsWithMessages(randomOrgId(random), randomIds(random, 'conversation')),
  readOrphans: async ({ sweepStore }, random) => {
    const orphans = await sweepStore.readOrphans(randomDate(random));
    return byId(orphans);
  },
  waitAgain: async ({ sweepStore }, random) => {
    const orphans = await sweepStore.readOrphans(randomDate(random));
    const fields = { orphanedAt: randomDate(random), revision: 1 + random.int(9) };
    await sweepStore.waitAgain(byId(orphans), randomDate(random), fields);
  },
};

/** A write reports the ids of conflicted writes with details that name collections. Only the ids are comparable. */
function comparable(result: unknown): unknown {
  const isWriteResult = typeof result === 'object' && result !== null && 'conflicted' in result;
  if (!isWriteResult) return result;
  const { conflicted, ...rest } = result as WriteResult;
  return { ...rest, conflicted: [...conflicted.keys()].toSorted() };
}

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
    const sweepStore = mongoSweepStore({
      database,
      control,
      prefix: 'support.',
      generation: 1,
      now: () => new Date(),
    });
    for (let step = 0; step < size(1_500, 15_000); step += 1) {
      const name = random.chance(0.2) ? 'write' : random.pick(Object.keys(calls));
      const call = calls[name] as Call;
      // Both calls get the same random arguments.
      const seed = random.int(2 ** 31);
      const fromMongo = await call({ store, sweepStore }, createRandom(seed), data);
      const fromMemory = await call(memoryStores, createRandom(seed), data);
      const expected = { step, name, result: comparable(fromMemory) };
      expect({ step, name, result: comparable(fromMongo) }).toEqual(expected);
    }
    for (const kind of usedKinds) {
      const inMongo = await collectionOf<StoredDocument>(database, kind).find().toArray();
      const inMemory = [...(data.get(kind)?.values() ?? [])];
      expect(byId(inMongo)).toEqual(byId(inMemory));
    }
  });

  test('return large documents in several reads of bounded size', async () => {
    // Ids of two digits sort by number.
    const ids = Array.from({ length: 30 }, (_, index) => `tag_${10 + index}`);
    const name = 'x'.repeat(900_000);
    for (const id of ids) {
      const document = storedDocument({ id, name });
      await opened.store.write('tag', [{ op: 'put', document, guard: null }]);
    }
    const reads = await readDocuments(opened.store, 'tag', [...ids, 'tag_none']);
    const mostDocuments = Math.max(...reads.map(({ length }) => length));
    expect(mostDocuments * name.length).toBeLessThan(17 * mebibyte);
    // then each document comes once
    const readIds = reads.flat().map(({ _id }) => _id);
    expect(readIds.toSorted()).toEqual(ids);
  });
});
