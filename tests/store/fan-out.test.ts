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
  const messagesOnSecondPage = 1_200;
  const ids = Array.from(
    { length: pageSize + messagesOnSecondPage },
    (_, index) => `msg_${String(index).padStart(6, '0')}`,
  );
  const engine = useEngineStore({ each: true });
  beforeEach(() => storeMessages(ids));

  const storeMessages = (messageIds: string[]) =>
    engine.store.write(
      'message',
      messageIds.map((id) => ({ op: 'put', document: message(id), guard: null })),
    );
  /**
   * Applies an event by a worker for which the offsets before `applied` count as applied. The worker stops as it reads
   * message number `stopAt`. Returns the ids of the messages that it has read to refresh them.
   */
  const apply = async (event: Event, { applied = 0, stopAt }: { applied?: number; stopAt?: number } = {}) => {
    const refreshed: string[] = [];
    const ending = new AbortController();
    const stopped = new Error('the worker stopped');
    const observed: Store = {
      ...engine.store,
      readCurrent: (kind, messageIds) => {
        if (kind === 'message') refreshed.push(...messageIds);
        if (stopAt !== undefined && refreshed.length >= stopAt) ending.abort(stopped);
        return engine.store.readCurrent(kind, messageIds);
      },
    };
    // A tombstone document must not expire during the test.
    const now = () => new Date();
    const deps = engineDeps(observed, { now, signal: ending.signal, isApplied: appliedUpTo(applied) });
    await applyChanges(deps, event.kind, [changeOf(event)]).catch((error: unknown) => {
      if (error !== stopped) throw error;
    });
    return refreshed;
  };
  const countNamed = (name: string) =>
    collectionOf(engine.database, 'message').countDocuments({ orgId: 'org_1', 'joined.author.name': name });
  const readCursor = async () => {
    const { documents } = await engine.store.readCurrent('contact', ['con_1']);
    return documents[0]?.fanOutCursor ?? null;
  };
  /** The worker has saved its cursor after the first page, and has begun with the second one. */
  const afterFirstPage = { stopAt: pageSize + documentsAtOnce };

  test('a stopped fan-out keeps the cursor after its last complete page', async () => {
    const refreshed = await apply(renamed('Ada', 1), afterFirstPage);
    expect(refreshed).toEqual(ids.slice(0, pageSize + documentsAtOnce));
    expect(await readCursor()).toEqual({ from: 'message', edge: 'contact', after: ids[pageSize - 1] });
  });

  test('a fan-out resumes after its cursor and leaves a new document before the cursor to the event of that document', async () => {
    await apply(renamed('Ada', 1), afterFirstPage);
    await storeMessages(['msg_000000a']);
    expect(await apply(renamed('Ada', 1))).toEqual(ids.slice(pageSize));
    expect(await countNamed('Ada')).toBe(ids.length);
    expect(await readCursor()).toBeNull();
  });

  test('a fan-out is not repeated if the position of its record is applied', async () => {
    await apply(renamed('Ada', 1));
    expect(await apply(renamed('Ada', 1), { applied: 2 })).toEqual([]);
  });

  test('a fan-out is repeated if the position of its record is not applied', async () => {
    await apply(renamed('Ada', 1));
    // The first worker may have crashed between its write of the contact and the end of the fan-out.
    expect(await apply(renamed('Ada', 1), { applied: 1 })).toEqual(ids);
  });

  test('a fan-out with a cursor resumes although the position of its record is applied', async () => {
    await apply(renamed('Ada', 1), afterFirstPage);
    expect(await apply(renamed('Ada', 1), { applied: 2 })).toEqual(ids.slice(pageSize));
    expect(await countNamed('Ada')).toBe(ids.length);
  });

  test('a fan-out refreshes a document only if an embedded field has changed', async () => {
    await apply(renamed('Ada', 1));
    expect(await apply(renamed('Ada', 2), { applied: 2 })).toEqual([]);
    expect(await apply(renamed('Grace', 3), { applied: 3 })).toEqual(ids);
  });
});

describe('the fan-outs of many entities', () => {
  const contacts = 120;
  const messagesPerContact = 25;
  const engine = useEngineStore();

  test('the fan-outs share their writes if only all of them together exceed a page', async () => {
    const ids = Array.from({ length: contacts }, (_, number) => `con_${number}`);
    const documents = ids.flatMap((id) =>
      Array.from({ length: messagesPerContact }, (_, index) => ({
        ...message(`msg_${id}_${index}`),
        refs: [`contact:${id}`],
      })),
    );
    expect(documents.length).toBeGreaterThan(pageSize);
    await engine.store.write(
      'message',
      documents.map((document) => ({ op: 'put', document, guard: null })),
    );
    let writes = 0;
    const counted: Store = {
      ...engine.store,
      write: (kind, documentWrites) => {
        if (kind === 'message') writes += 1;
        return engine.store.write(kind, documentWrites);
      },
    };
    const changes = ids.map((id, number) => changeOf(created('contact', id, { name: 'Ada' }), number));
    await applyChanges(engineDeps(counted), 'contact', changes);
    const renamedMessages = { orgId: 'org_1', 'joined.author.name': 'Ada' };
    expect(await collectionOf(engine.database, 'message').countDocuments(renamedMessages)).toBe(
      documents.length,
    );
    const fewestWrites = Math.ceil(documents.length / documentsAtOnce);
    // Not every write is full, because the contacts are halved until their documents fit into a page.
    expect(writes).toBeLessThanOrEqual(2 * fewestWrites);
    expect(2 * fewestWrites).toBeLessThan(contacts);
  });
});
