import type {
  Current,
  ReferencedEntity,
  Store,
  StoredDocument,
  Write,
  Written,
} from '../../services/projector/materialize/store.ts';
import type { SweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import { mongoSweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { type Data, emptyData, envelopeOf, memoryStore } from '../simulation/memory-store.ts';
import { memorySweepStore } from '../simulation/memory-sweep-store.ts';
import { storedDocument } from '../support/engine.ts';
import { size } from '../support/long.ts';
import { createRandom, type Random } from '../support/random.ts';
import { useEngineStore } from './engine-store.ts';

const used = ['channel', 'conversation', 'message'] as const;
const idIn = (random: Random, kind: string) => `${kind}_${random.int(4)}`;
const idsIn = (random: Random, kind: string) => [
  ...new Set(Array.from({ length: 1 + random.int(8) }, () => idIn(random, kind))),
];
/** Ids of some kinds. */
const wantedIn = (random: Random) =>
  new Map(used.slice(random.int(4)).map((kind) => [kind, new Set(idsIn(random, kind))]));
const orgId = (random: Random) => (random.chance(0.8) ? 'org_1' : 'org_2');
const channelIn = (random: Random) => ({ id: idIn(random, 'channel'), orgId: orgId(random) });
const at = (random: Random) => new Date(random.int(5) * 1_000);
const position = (random: Random) => ({ partition: 0, offset: random.int(9), timestampMs: 1 });
const refIn = (random: Random) => random.pick(['channel:channel_1', 'channel:channel_2', 'tags:channel_1']);
const maybe = <T extends object>(random: Random, fields: T) => (random.chance(0.5) ? fields : {});
const byId = <T extends { _id: string }>(documents: T[]) =>
  documents.toSorted((a, b) => (a._id < b._id ? -1 : 1));

/** A document as the engine or the sweep writes it: living, deleted, or purged with or without its references. */
function documentOf(random: Random, kind: Kind, _id: string, revision: number): StoredDocument {
  const createdAt = at(random);
  const dataRetentionDays = random.pick([null, 0, 3]);
  const refs = [refIn(random), `contact:${idIn(random, 'con')}`];
  const state = {
    ...{ id: _id, title: 'Broken', createdAt, updatedAt: at(random) },
    ...(kind === 'channel' && { dataRetentionDays }),
    ...(kind === 'conversation' && { ticketId: idIn(random, 'ti'), channelId: idIn(random, 'channel') }),
    ...(kind === 'message' && { conversationId: idIn(random, 'conversation') }),
  };
  const living = storedDocument(state, {
    ...{ orgId: orgId(random), version: random.int(2), revision, position: position(random), refs },
    byCreated: createdAt.toISOString() + _id,
    ...maybe(random, { fanOutCursor: { from: 'ticket', edge: 'conversations', after: 'ti_5' } }),
    ...maybe(random, { tombstonePosition: position(random) }),
    ...maybe(random, { pending: true }),
    ...maybe(random, { orphanedAt: at(random) }),
  });
  const envelope = { ...envelopeOf(living), expiresAt: new Date('2100-01-01') };
  const deleted = { ...envelope, deletedAt: at(random), ...(dataRetentionDays && { dataRetentionDays }) };
  return random.pick([living, living, living, deleted, { ...envelope, ...maybe(random, { refs }) }]);
}

/** A write that was built on the stored revision, or on another. */
function writeOf(random: Random, data: Data, kind: Kind, _id: string): Write {
  const stored = data.get(kind)?.get(_id);
  const guard = random.chance(0.7) ? (stored?.revision ?? null) : random.pick([null, 1, 7]);
  const document = documentOf(random, kind, _id, (guard ?? 0) + 1);
  if (guard === null || !stored?.state || random.chance(0.5)) return { op: 'put', document, guard };
  const { revision, refs = [], pending, orphanedAt, tombstonePosition } = document;
  const marks = { ...(pending && { pending }), ...(orphanedAt && { orphanedAt }) };
  const joined = { revision, refs, position: position(random), joined: { channel: null }, ...marks };
  // The document may be gone: a fail-over has rolled it back, or its generation was dropped.
  const fields = { _id: random.chance(0.9) ? _id : `${kind}_gone`, ...joined };
  return { op: 'join', document: { ...fields, ...(tombstonePosition && { tombstonePosition }) }, guard };
}

/** Reads one page after another, each after the end of the one before. */
async function pages<T>(read: (after: string) => Promise<{ items: T[]; next: string | null }>, from = '') {
  const found: T[] = [];
  for (let after: string | null = from; after !== null;) {
    const { items, next }: { items: T[]; next: string | null } = await read(after);
    found.push(...items);
    after = next;
  }
  return found;
}

const dependents = (store: Store, kind: Kind, ref: string, from = '') =>
  pages(async (after) => {
    const { ids, next } = await store.pageOfDependents(kind, ref, after);
    return { items: ids, next };
  }, from);

/** Returns the documents of each read: bounded memory may need several reads. */
async function parts(store: Store, kind: Kind, ids: string[]) {
  const found: Current[][] = [];
  for (let remaining = ids; remaining.length > 0;) {
    const read = await store.readCurrent(kind, remaining);
    found.push(read.documents);
    remaining = read.remaining;
  }
  return found;
}

type Stores = { store: Store; sweepStore: SweepStore };

/**
 * The calls of the stores, with random arguments. A call reads every page, since the pages of the two stores differ in
 * size.
 */
const calls: { [name: string]: (stores: Stores, random: Random, data: Data) => Promise<unknown> } = {
  write: ({ store }, random, data) => {
    const kind = random.pick(used);
    const writes = idsIn(random, kind).map((id) => writeOf(random, data, kind, id));
    return store.write(kind, writes);
  },
  saveFanOutCursor: ({ store }, random) => {
    const kind = random.pick(used);
    const id = idIn(random, kind);
    const tombstonePosition = random.chance(0.3) ? position(random) : undefined;
    const of = { id, version: random.int(2), tombstonePosition, isDeleted: random.chance(0.3) };
    const cursor = random.pick([null, { from: 'message' as const, edge: 'channel', after: 'msg_6' }]);
    return store.saveFanOutCursor(kind, of, cursor);
  },
  readCurrent: async ({ store }, random) => {
    const kind = random.pick(used);
    return byId((await parts(store, kind, idsIn(random, kind))).flat());
  },
  readEnvelopes: async ({ store }, random) => {
    const kind = random.pick(used);
    return byId(await store.readEnvelopes(kind, idsIn(random, kind)));
  },
  readEntities: async ({ store }, random) => {
    const found = await store.readEntities(wantedIn(random));
    const fields = ({ _id, orgId, revision, deletedAt, state }: ReferencedEntity) => ({
      _id,
      orgId,
      revision,
      deletedAt,
      state,
    });
    return used.map((kind) => byId([...(found.get(kind)?.values() ?? [])]).map(fields));
  },
  readRevisions: async ({ store }, random) => {
    const found = await store.readRevisions(wantedIn(random));
    return used.map((kind) => Object.fromEntries(found.get(kind) ?? []));
  },
  readFirstChildren: async ({ store }, random) => {
    const max = 1 + random.int(3);
    const parents = new Map(idsIn(random, 'ti').map((id) => [id, orgId(random)]));
    const { children } = await store.readFirstChildren(
      'conversation',
      { parentField: 'ticketId', max },
      parents,
    );
    return [...parents.keys()].map((id) => children.get(id) ?? []);
  },
  findDependents: async ({ store }, random) => {
    const [kind, refs] = [random.pick(used), [refIn(random), refIn(random)]];
    const each = await Promise.all(refs.map((ref) => dependents(store, kind, ref)));
    return ((await store.findDependents(kind, refs)) ?? [...new Set(each.flat())]).toSorted();
  },
  pageOfDependents: ({ store }, random) =>
    dependents(store, random.pick(used), refIn(random), random.pick(['', 'conversation_1', 'message_2'])),
  readChannels: ({ sweepStore }, random) =>
    pages(
      async (after) => {
        const items = await sweepStore.readChannels(after);
        return { items, next: items.at(-1)?.id ?? null };
      },
      random.pick(['', idIn(random, 'channel')]),
    ),
  readRetention: ({ sweepStore }, random) => sweepStore.readRetention(idIn(random, 'channel')),
  readConversations: ({ sweepStore }, random) => {
    const [channel, createdUpTo] = [channelIn(random), random.pick([null, at(random)])];
    return pages(async (after) => {
      const items = await sweepStore.readConversations(channel, after, createdUpTo);
      return { items, next: items.at(-1)?.key ?? null };
    });
  },
  readExpiredMessages: async ({ sweepStore }, random) =>
    byId(await sweepStore.readExpiredMessages(orgId(random), idsIn(random, 'conversation'), at(random))),
  readWithMessages: ({ sweepStore }, random) =>
    sweepStore.readWithMessages(orgId(random), idsIn(random, 'conversation')),
  readOrphans: async ({ sweepStore }, random) => byId(await sweepStore.readOrphans(at(random))),
  waitAgain: async ({ sweepStore }, random) => {
    const orphans = await sweepStore.readOrphans(at(random));
    const fields = { orphanedAt: at(random), revision: 1 + random.int(9) };
    await sweepStore.waitAgain(byId(orphans), at(random), fields);
  },
};

/** The details of lost writes name collections. */
const comparable = (answer: unknown): unknown =>
  typeof answer === 'object' && answer !== null && 'conflicted' in answer
    ? { ...answer, conflicted: [...(answer as Written).conflicted.keys()].toSorted() }
    : answer;

/** The simulation proves the engine on stores in memory, so those must answer as MongoDB does. */
describe('the stores of the engine and of the sweep', () => {
  const opened = useEngineStore();

  test('answer in MongoDB as they do in memory', async () => {
    const { database, control, store } = opened;
    const [data, random] = [emptyData(), createRandom(1)];
    const memory = {
      store: memoryStore(data),
      sweepStore: memorySweepStore(data, new Set(), undefined, { pageSize: 9 }),
    };
    const sweepStore = mongoSweepStore({ database, control, prefix: 'support.', now: () => new Date() });
    for (let step = 0; step < size(1_500, 15_000); step += 1) {
      const [name, seed] = [
        random.chance(0.2) ? 'write' : random.pick(Object.keys(calls)),
        random.int(2 ** 31),
      ];
      const inMongo = await calls[name]?.({ store, sweepStore }, createRandom(seed), data);
      const inMemory = await calls[name]?.(memory, createRandom(seed), data);
      expect({ step, name, answer: comparable(inMongo) }).toEqual({
        step,
        name,
        answer: comparable(inMemory),
      });
    }
    for (const kind of used)
      expect(byId(await collectionOf<StoredDocument>(database, kind).find().toArray())).toEqual(
        byId([...(data.get(kind)?.values() ?? [])]),
      );
  });

  test('return documents that are large together in parts, each document once', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `tag_${10 + index}`);
    const name = 'x'.repeat(900_000);
    for (const id of ids)
      await opened.store.write('tag', [{ op: 'put', document: storedDocument({ id, name }), guard: null }]);
    const found = await parts(opened.store, 'tag', [...ids, 'tag_none']);
    expect(Math.max(...found.map(({ length }) => length)) * name.length).toBeLessThan(17 * 1024 * 1024);
    expect(found.flatMap((part) => part.map(({ _id }) => _id)).toSorted()).toEqual(ids);
  });
});
