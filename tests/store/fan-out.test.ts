import { documentsAtOnce } from '../../services/projector/materialize/fan-out.ts';
import { pageSize } from '../../services/projector/materialize/mongo-store.ts';
import type { Store } from '../../services/projector/materialize/store.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { appliedUpTo, applyChanges, changeOf, engineDeps, storedDocument } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { useEngineStore } from './engine-store.ts';

const message = (id: string) =>
  storedDocument(
    { id, conversationId: 'conv_1', author: { type: 'contact', id: 'con_1' }, content: 'Hello' },
    { joined: { author: null }, refs: ['contact:con_1'], byCreated: `2026-01-01T00:00:00.000Z${id}` },
  );
const renamed = (name: string, version: number) => created('contact', 'con_1', { name }, version);

describe('a fan-out', () => {
  const onSecondPage = 1_200;
  const ids = Array.from(
    { length: pageSize + onSecondPage },
    (_, index) => `msg_${String(index).padStart(6, '0')}`,
  );
  const opened = useEngineStore();
  beforeAll(() => storeMessages(ids));

  const storeMessages = (messageIds: string[]) =>
    opened.store.write(
      'message',
      messageIds.map((id) => ({ op: 'put', document: message(id), guard: null })),
    );
  /** Applies the event, and aborts when `chunks` chunks have started. Returns the ids of the refreshed messages. */
  const apply = async (event: Event, { chunks = Infinity, applied = 0 } = {}) => {
    const refreshed: string[] = [];
    const ending = new AbortController();
    const observed: Store = {
      ...opened.store,
      readCurrent: (kind, messageIds) => {
        if (kind === 'message') refreshed.push(...messageIds);
        if (refreshed.length >= chunks * documentsAtOnce) ending.abort(new Error('aborted'));
        return opened.store.readCurrent(kind, messageIds);
      },
    };
    // A tombstone document must not expire during the test.
    const now = () => new Date();
    const deps = engineDeps(observed, { now, signal: ending.signal, isApplied: appliedUpTo(applied) });
    await applyChanges(deps, event.kind, [changeOf(event)]).catch((error: Error) => {
      if (error.message !== 'aborted') throw error;
    });
    return refreshed;
  };
  const countNamed = (name: string) =>
    collectionOf(opened.database, 'message').countDocuments({ orgId: 'org_1', 'joined.author.name': name });
  const cursor = async () =>
    (await opened.store.readCurrent('contact', ['con_1'])).documents[0]?.fanOutCursor ?? null;

  test('a fan-out resumes after its cursor and leaves a new document before the cursor to the event of that document', async () => {
    // given a rename that was aborted after its first page
    const refreshed = await apply(renamed('Ada', 1), { chunks: pageSize / documentsAtOnce + 1 });
    expect(refreshed).toEqual(ids.slice(0, pageSize + documentsAtOnce));
    expect(await cursor()).toEqual({ from: 'message', edge: 'contact', after: ids[pageSize - 1] });
    await storeMessages(['msg_000000a']);
    // when a worker applies the rename again
    // then the worker refreshes only the remaining documents
    expect(await apply(renamed('Ada', 1))).toEqual(ids.slice(pageSize));
    expect(await countNamed('Ada')).toBe(ids.length);
    expect(await cursor()).toBeNull();
  });

  test('a fan-out is not repeated if the position of its record is applied', async () => {
    // given a complete rename, when Kafka delivers its record again
    expect(await apply(renamed('Ada', 1), { applied: 2 })).toEqual([]);
  });

  test('a fan-out is repeated if the position of its record is not applied', async () => {
    // An earlier worker may have crashed between its write of the contact and the end of the fan-out.
    expect(await apply(renamed('Ada', 1), { applied: 1 })).toHaveLength(ids.length + 1);
  });

  test('a fan-out with a cursor resumes although the position of its record is applied', async () => {
    await apply(renamed('Grace', 2), { chunks: pageSize / documentsAtOnce + 1, applied: 2 });
    expect(await apply(renamed('Grace', 2), { applied: 3 })).toEqual(
      ['msg_000000a', ...ids].sort().slice(pageSize),
    );
    expect(await countNamed('Grace')).toBe(ids.length + 1);
  });

  test('a fan-out refreshes a document only if an embedded field has changed', async () => {
    expect(await apply(renamed('Grace', 3), { applied: 3 })).toEqual([]);
    expect(await apply(renamed('Ada', 4), { applied: 4 })).toHaveLength(ids.length + 1);
  });
});

describe('the fan-outs of many entities', () => {
  const contacts = 120;
  const messagesPerContact = 25;
  const opened = useEngineStore();

  test('the fan-outs share their writes if only all of them together exceed a page', async () => {
    const ids = Array.from({ length: contacts }, (_, number) => `con_${number}`);
    const documents = ids.flatMap((id) =>
      Array.from({ length: messagesPerContact }, (_, index) => ({
        ...message(`msg_${id}_${index}`),
        refs: [`contact:${id}`],
      })),
    );
    expect(documents.length).toBeGreaterThan(pageSize);
    await opened.store.write(
      'message',
      documents.map((document) => ({ op: 'put', document, guard: null })),
    );
    let writes = 0;
    const counted: Store = {
      ...opened.store,
      write: (kind, documentWrites) => {
        if (kind === 'message') writes += 1;
        return opened.store.write(kind, documentWrites);
      },
    };
    const changes = ids.map((id, number) => changeOf(created('contact', id, { name: 'Ada' }), number));
    await applyChanges(engineDeps(counted), 'contact', changes);
    const named = { orgId: 'org_1', 'joined.author.name': 'Ada' };
    expect(await collectionOf(opened.database, 'message').countDocuments(named)).toBe(documents.length);
    expect(writes).toBeLessThanOrEqual(2 * Math.ceil(documents.length / documentsAtOnce));
  });
});
