import { ReadConcern } from 'mongodb';
import { readThread } from '../../services/api/resources/conversations/thread.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import * as build from './builders.ts';
import { listOf, snapshotOf, testReaders, useApi } from './test-api.ts';

const shape = { kind: 'ticket' as const, projection: { 'state.id': 1 } };
/** Threads of org_a with the numbers of their messages: more than a shared query reads. */
const threads = { conv_1: 3, conv_2: 250, conv_3: 700, conv_4: 3 };
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
    ...Object.entries(threads).flatMap(([id, length]) => build.thread(id, length)),
    ...build.thread('conv_large', 3, 'x'.repeat(1_500_000)),
    build.message({ id: 'msg_b', conversationId: 'conv_b' }, { orgId: 'org_b' }),
  ],
});
const openReader = testReaders();
let snapshot: Parameters<typeof openReader>[1];
const open = (orgId: string, keyId = 'key_1', readers = openReader) => readers({ orgId, keyId }, snapshot);

beforeAll(() => {
  snapshot = snapshotOf(generationDatabase(api.client, api.store.name, 1));
});

beforeEach(() => api.commands.splice(0));
const finds = (collection = 'tickets') =>
  api.commands.flatMap(({ command }) => (command.find === collection ? [command] : []));

const idOf = (document: object | null) => (document as { state: { id: string } } | null)?.state.id ?? null;

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
  const filters = finds().map(({ filter }) => filter as object);
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
  const documents = await Promise.all([
    idReader.find(shape, 'ti_3'),
    idReader.find(shape, 'ti_1'),
    titleReader.find(titles, 'ti_1'),
  ]);
  const { title } = build.ticket({ id: 'ti_1' }).state;
  expect(documents.slice(1).map((document) => document?.state as unknown)).toEqual([
    { id: 'ti_1' },
    { title },
  ]);
});

test('all documents of a query are found although they do not fit into one reply', async () => {
  const withFiller = { kind: 'ticket' as const, projection: { 'state.id': 1, filler: 1 } };
  const documents = await Promise.all(largeIds.map((id) => open('org_a').find(withFiller, id)));
  expect(documents.map(idOf)).toEqual(largeIds);
  // No reply leaves a cursor in the store.
  expect(finds().map(({ singleBatch }) => singleBatch as unknown)).toEqual([true, true, true]);
});

test('reads have the read concern of the connection string', async () => {
  const database = generationDatabase(api.client, api.store.name, 1, {
    readConcern: new ReadConcern('majority'),
  });
  await openReader({ orgId: 'org_a', keyId: 'key_1' }, { ...snapshot, database }).findThread('conv_1');
  expect(finds('messages')).toMatchObject([{ readConcern: { level: 'majority' } }]);
});

test('a client that leaves does not end the shared query of other clients', async () => {
  const leaving = open('org_a');
  const staying = open('org_b');
  const reads = [leaving.find(shape, 'ti_1'), staying.find(shape, 'ti_b'), leaving.find(shape, 'ti_2')];
  const started = new Promise((resolve) => api.client.once('commandStarted', resolve));
  // The first read of the leaving client starts the query that it leaves. Its second read waits with the read of the
  // other client.
  await started;
  leaving.end();
  expect(idOf((await Promise.all(reads))[1] ?? null)).toBe('ti_b');
});

/** The ids of all messages of a thread, as a retrieved conversation shows them. */
async function read(orgId: string, conversationId: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const batch of readThread(open(orgId), { orgId, conversationId, from: null }))
    ids.push(...batch.map(({ state }) => state.id));
  return ids;
}

test('threads that are read at the same time share a query', async () => {
  const lengths = { ...threads, conv_5: 0 };
  // The budget admits few reads at once until it knows the size of an organization's messages.
  await Promise.all([read('org_a', 'conv_1'), read('org_b', 'conv_b')]);
  api.commands.splice(0);
  const threadIds = await Promise.all([
    ...Object.keys(lengths).map((id) => read('org_a', id)),
    read('org_b', 'conv_b'),
    read('org_b', 'conv_1'),
  ]);
  expect(threadIds).toEqual([
    ...Object.entries(lengths).map(([id, length]) => build.thread(id, length).map(({ state }) => state?.id)),
    ['msg_b'],
    [],
  ]);
  const [, shared] = finds('messages').map(
    ({ filter }) => (filter as Record<string, object>)['state.conversationId'],
  );
  const together = (shared as { $in?: string[] }).$in ?? [];
  expect(together.toSorted()).toEqual(['conv_1', 'conv_2', 'conv_3', 'conv_4', 'conv_5', 'conv_b']);
});

test('the start of a thread has at most 100 messages, and the starts of several threads have at most 500', async () => {
  await read('org_a', 'conv_1');
  api.commands.splice(0);
  await Promise.all(Object.keys(threads).map((id) => open('org_a').findThread(id)));
  expect(finds('messages').map(({ limit }) => Number(limit))).toEqual([100, 300]);
  api.commands.splice(0);
  await Promise.all(Array.from({ length: 9 }, () => open('org_a').findThread('conv_3')));
  expect(finds('messages').map(({ limit }) => Number(limit))).toEqual([100, 500]);
});

test('a read of large messages ends before they exceed 2 MB', async () => {
  const { documents: messages, isComplete } = await open('org_a').findThread('conv_large');
  expect({ messages: messages.length, isComplete }).toEqual({ messages: 1, isComplete: false });
  // Each further reply has one message, and one more that shows whether others follow.
  api.commands.splice(0);
  expect(await read('org_a', 'conv_large')).toHaveLength(3);
  expect(finds('messages').map(({ limit }) => Number(limit))).toEqual([100, 2, 2]);
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
  const dropped = testReaders(() => Promise.reject(new Error('dropped')));
  await expect(open('org_a', 'key_1', dropped).findThread('conv_5')).rejects.toThrow('dropped');
});
