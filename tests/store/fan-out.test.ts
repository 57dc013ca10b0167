import { applyChanges } from '../../services/projector/materialize/apply-changes.ts';
import { pageSize } from '../../services/projector/materialize/mongo-store.ts';
import type { Store, StoredDocument } from '../../services/projector/materialize/store.ts';
import { chunkSize } from '../../services/projector/materialize/fan-out.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { appliedUpTo, changeOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { openEngineStore, type EngineStore } from './engine-store.ts';

const message = (id: string): StoredDocument => ({
  ...{ _id: id, orgId: 'org_1', version: 1, revision: 1, joined: { author: null } },
  position: { partition: 0, offset: 1, timestampMs: 1 },
  state: { id, conversationId: 'conv_1', author: { type: 'contact', id: 'con_1' }, content: 'Hello' },
  refs: ['contact:con_1'],
  byCreated: `2026-01-01T00:00:00.000Z${id}`,
});
const renamed = (name: string, version: number) => created('contact', 'con_1', { name }, version);

describe('a fan-out', () => {
  const left = 1_200;
  const ids = Array.from({ length: pageSize + left }, (_, index) => `msg_${String(index).padStart(6, '0')}`);
  let opened: EngineStore;

  beforeAll(async () => {
    opened = await openEngineStore();
    await given(ids);
  }, 120_000);
  afterAll(() => opened.close(), 60_000);

  const given = (some: string[]) =>
    opened.store.write(
      'message',
      some.map((id) => ({ op: 'put', document: message(id), guard: null })),
    );
  /** Applies the event until `chunks` chunks have begun; gives the ids of the messages that were refreshed. */
  const apply = async (event: Event, { chunks = Infinity, applied = 0 } = {}) => {
    const looked: string[] = [];
    const ending = new AbortController();
    const watched: Store = {
      ...opened.store,
      readCurrent: (kind, some) => {
        if (kind === 'message') looked.push(...some);
        if (looked.length >= chunks * chunkSize) ending.abort(new Error('broken off'));
        return opened.store.readCurrent(kind, some);
      },
    };
    const deps = engineDeps(watched, { signal: ending.signal, isApplied: appliedUpTo(applied) });
    await applyChanges(deps, event.kind, [changeOf(event)]).catch((error: Error) => {
      if (error.message !== 'broken off') throw error;
    });
    return looked;
  };
  const named = (name: string) =>
    collectionOf(opened.database, 'message').countDocuments({ orgId: 'org_1', 'joined.author.name': name });
  const cursor = async () =>
    (await opened.store.readCurrent('contact', ['con_1'])).documents[0]?.fanOutCursor ?? null;

  it('goes on where it was broken off, and leaves what came behind that place to its own event', async () => {
    // given a rename that was broken off behind its first page
    const first = await apply(renamed('Ada', 1), { chunks: pageSize / chunkSize + 1 });
    expect(first).toEqual(ids.slice(0, pageSize + chunkSize));
    expect(await cursor()).toEqual({ from: 'message', edge: 'contact', after: ids[pageSize - 1] });
    // and a document that came before that place since
    await given(['msg_000000a']);
    // when it is applied again, then it refreshes what is left, and no more
    expect(await apply(renamed('Ada', 1))).toEqual(ids.slice(pageSize));
    expect(await named('Ada')).toBe(ids.length);
    expect(await cursor()).toBeNull();
  }, 60_000);

  it('is complete where the position of its record is applied, and where it is not it is done again', async () => {
    // given a rename of which nothing is left to be done, when it comes again
    expect(await apply(renamed('Ada', 1), { applied: 2 })).toEqual([]);
    // but where its position is not known to be applied, a worker may have died behind its write
    expect(await apply(renamed('Ada', 1), { applied: 1 })).toHaveLength(ids.length + 1);
  }, 60_000);

  it('that is marked as begun goes on, whatever positions count as applied', async () => {
    await apply(renamed('Grace', 2), { chunks: pageSize / chunkSize + 1, applied: 2 });
    expect(await apply(renamed('Grace', 2), { applied: 3 })).toEqual(
      ['msg_000000a', ...ids].sort().slice(pageSize),
    );
    expect(await named('Grace')).toBe(ids.length + 1);
  }, 60_000);

  it('begins anew for another state', async () => {
    // given one rename broken off behind its first page, when another comes
    await apply(renamed('Countess', 3), { chunks: pageSize / chunkSize + 1 });
    const all = await apply(renamed('Augusta', 4));
    // then every document is refreshed, and the place is forgotten
    expect(all).toHaveLength(ids.length + 1);
    expect(await named('Augusta')).toBe(ids.length + 1);
    expect(await cursor()).toBeNull();
  }, 60_000);

  it('reaches nobody for a change that nobody shows', async () => {
    // given a state that has reached all, when what comes differs in nothing that is shown
    expect(await apply(renamed('Augusta', 5), { applied: 5 })).toEqual([]);
    expect(await apply(renamed('Ada', 6), { applied: 6 })).toHaveLength(ids.length + 1);
  }, 60_000);
});
