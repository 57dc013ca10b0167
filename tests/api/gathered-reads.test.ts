import { once } from 'node:events';
import { ReadConcern } from 'mongodb';
import { readThread } from '../../services/api/resources/conversations/thread.ts';
import type { DataSnapshot } from '../../services/api/store/read-snapshot.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import * as build from './builders.ts';
import { listOf, snapshotOf, testReaders, useApi } from './test-api.ts';

const shape = { kind: 'ticket' as const, projection: { 'state.id': 1 } };
/** Threads of org_a with the numbers of their messages: more than a shared query reads. */
const threadLengths = { conv_1: 3, conv_2: 250, conv_3: 700, conv_4: 3 };
const threads = Object.entries(threadLengths).map(([id, length]) => ({
  id,
  messages: build.thread(id, length),
}));
/** Tickets of 5 MB: a reply of MongoDB holds 16 MB, so at most three of them. */
const largeIds = Array.from({ length: 5 }, (_, index) => `ti_large_${index}`);
const api = useApi({
  ticket: [
    ...['ti_1', 'ti_2', 'ti_3'].map((id) => build.ticket({ id })),
    ...largeIds.map((id) => ({ ...build.ticket({ id }), filler: 'x'.repeat(5_000_000) })),
    build.ticket({ id: 'ti_b' }, { orgId: 'org_b' }),
  ],
  conversation: [build.conversation({ id: 'conv_large' })],
  message: [
    ...threads.flatMap(({ messages }) => messages),
    ...build.thread('conv_large', 3, 'x'.repeat(1_500_000)),
    build.message({ id: 'msg_b', conversationId: 'conv_b' }, { orgId: 'org_b' }),
  ],
});
const openReader = testReaders();
let snapshot: DataSnapshot;
const open = (orgId: string, keyId = 'key_1') => openReader({ orgId, keyId }, snapshot);

beforeAll(() => {
  snapshot = snapshotOf(generationDatabase(api.client, api.store.name, 1));
});

beforeEach(() => api.commands.splice(0));

/** The queries of a collection that the API has sent. */
const findsOf = (collection: string) =>
  api.commands.map(({ command }) => command).filter(({ find }) => find === collection);

type WithId = { state: { id: string } };
const idOf = (document: object | null) => (document as WithId | null)?.state.id ?? null;

test('requests that arrive during a query share the next query across organizations', async () => {
  const a = open('org_a');
  const otherKey = open('org_a', 'key_2');
  const b = open('org_b');
  const documents = await Promise.all([
    a.find(shape, 'ti_1'),
    a.find(shape, 'ti_2'),
    b.find(shape, 'ti_2'),
    b.find(shape, 'ti_b'),
    a.find(shape, 'ti_b'),
    otherKey.find(shape, 'ti_2'),
    otherKey.find(shape, 'ti_none'),
  ]);
  expect(documents.map(idOf)).toEqual(['ti_1', 'ti_2', null, 'ti_b', null, 'ti_2', null]);
  const filters = findsOf('tickets').map(({ filter }) => filter as object);
  expect(filters).toHaveLength(2);
  // In any order: if the first query still waits for its connection after 20 ms, the second query no longer waits for
  // the first.
  expect(filters).toContainEqual({ _id: { $in: ['ti_1'] }, orgId: { $in: ['org_a'] } });
  expect(filters).toContainEqual({
    _id: { $in: ['ti_2', 'ti_b', 'ti_none'] },
    orgId: { $in: ['org_a', 'org_b'] },
  });
});

test('requests for different fields of a document do not share a query', async () => {
  const idReader = open('org_a');
  const titleReader = open('org_a');
  const titles = { kind: 'ticket' as const, projection: { 'state.title': 1 } };
  // The first query holds back the other two reads, which would share the next query if it could serve both.
  const [, withId, withTitle] = await Promise.all([
    idReader.find(shape, 'ti_3'),
    idReader.find(shape, 'ti_1'),
    titleReader.find(titles, 'ti_1'),
  ]);
  const { title } = build.ticket({ id: 'ti_1' }).state;
  expect(withId?.state).toEqual({ id: 'ti_1' });
  expect(withTitle?.state).toEqual({ title });
});

test('all documents of a query are found although they do not fit into one reply', async () => {
  const withFiller = { kind: 'ticket' as const, projection: { 'state.id': 1, filler: 1 } };
  const documents = await Promise.all(largeIds.map((id) => open('org_a').find(withFiller, id)));
  expect(documents.map(idOf)).toEqual(largeIds);
  // No reply leaves a cursor in the store.
  expect(findsOf('tickets').map(({ singleBatch }) => singleBatch as unknown)).toEqual([true, true, true]);
});

test('reads have the read concern of the connection string', async () => {
  const readConcern = new ReadConcern('majority');
  const database = generationDatabase(api.client, api.store.name, 1, { readConcern });
  const reader = openReader({ orgId: 'org_a', keyId: 'key_1' }, { ...snapshot, database });
  await reader.findThread('conv_1');
  expect(findsOf('messages')).toMatchObject([{ readConcern: { level: 'majority' } }]);
});

test('a client that leaves does not end the shared query of other clients', async () => {
  const leaving = open('org_a');
  const staying = open('org_b');
  // The first read of the leaving client starts the query that it leaves. Its second read waits with the read of the
  // other client.
  const reads = Promise.all([
    leaving.find(shape, 'ti_1'),
    staying.find(shape, 'ti_b'),
    leaving.find(shape, 'ti_2'),
  ]);
  await once(api.client, 'commandStarted');
  leaving.end();
  const [, ofStaying] = await reads;
  expect(idOf(ofStaying)).toBe('ti_b');
});

/** The ids of all messages of a thread, as a retrieved conversation shows them. */
async function read(orgId: string, conversationId: string): Promise<string[]> {
  const ids: string[] = [];
  const batches = readThread(open(orgId), { orgId, conversationId, from: null });
  for await (const batch of batches) ids.push(...batch.map(({ state }) => state.id));
  return ids;
}

const limitsOf = (finds: { limit?: unknown }[]) => finds.map(({ limit }) => Number(limit));

test('threads that are read at the same time share a query', async () => {
  // The budget admits few reads at once until it knows the size of an organization's messages.
  await Promise.all([read('org_a', 'conv_1'), read('org_b', 'conv_b')]);
  api.commands.splice(0);
  const idsByThread = await Promise.all([
    ...threads.map(({ id }) => read('org_a', id)),
    read('org_a', 'conv_empty'),
    read('org_b', 'conv_b'),
    read('org_b', 'conv_1'),
  ]);
  const expectedIds = threads.map(({ messages }) => messages.map(({ state }) => state.id));
  expect(idsByThread).toEqual([...expectedIds, [], ['msg_b'], []]);
  const [, shared] = findsOf('messages');
  const { $in: together } =
    (shared?.filter as Record<string, { $in: string[] }>)['state.conversationId'] ?? {};
  expect(together?.toSorted()).toEqual(['conv_1', 'conv_2', 'conv_3', 'conv_4', 'conv_b', 'conv_empty']);
});

test('the start of a thread has at most 100 messages, and the starts of several threads have at most 500', async () => {
  await read('org_a', 'conv_1');
  api.commands.splice(0);
  await Promise.all(threads.map(({ id }) => open('org_a').findThread(id)));
  expect(limitsOf(findsOf('messages'))).toEqual([100, 300]);
  api.commands.splice(0);
  await Promise.all(Array.from({ length: 9 }, () => open('org_a').findThread('conv_3')));
  expect(limitsOf(findsOf('messages'))).toEqual([100, 500]);
});

test('a read of large messages ends before they exceed 2 MB', async () => {
  const { documents: messages, isComplete } = await open('org_a').findThread('conv_large');
  expect({ messages: messages.length, isComplete }).toEqual({ messages: 1, isComplete: false });
  // Each further reply has one message, and one more that shows whether others follow.
  api.commands.splice(0);
  expect(await read('org_a', 'conv_large')).toHaveLength(3);
  expect(limitsOf(findsOf('messages'))).toEqual([100, 2, 2]);
});

test('a page of large messages ends early, and the next page continues after it', async () => {
  const page = async (after = '') => {
    const path = `/v1/conversations/conv_large/messages?limit=100${after}`;
    const { data, hasMore, nextCursor } = listOf(await api.get(path));
    return { ids: data.map(({ id }) => id), hasMore, nextCursor };
  };
  const first = await page();
  expect(first).toMatchObject({ ids: ['msg_000000'], hasMore: true });
  const second = await page(`&startingAfter=${first.nextCursor}`);
  expect(second).toMatchObject({ ids: ['msg_000001'], hasMore: true });
  const last = { ids: ['msg_000002'], hasMore: false, nextCursor: null };
  expect(await page(`&startingAfter=${second.nextCursor}`)).toEqual(last);
});

test('a thread without messages is an error if its collection does not exist', async () => {
  const openDropped = testReaders(() => Promise.reject(new Error('dropped')));
  const reader = openDropped({ orgId: 'org_a', keyId: 'key_1' }, snapshot);
  await expect(reader.findThread('conv_empty')).rejects.toThrow('dropped');
});
