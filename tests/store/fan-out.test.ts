import type { Db } from 'mongodb';
import { applyChanges } from '../../services/projector/materialize/engine.ts';
import { pageSize } from '../../services/projector/materialize/mongo-store.ts';
import type { Store, StoredDocument } from '../../services/projector/materialize/store.ts';
import type { Change } from '../../services/projector/events/change.ts';
import { collectionOf } from '../../shared/runtime/mongo.ts';
import { openEngineStore } from './engine-store.ts';

const position = (offset: number) => ({ partition: 0, offset, timestampMs: offset });

const message = (id: string): StoredDocument => ({
  ...{ _id: id, orgId: 'org_1', version: 1, revision: 1, at: position(1), joined: { author: null } },
  own: { id, conversationId: 'conv_1', author: { type: 'contact', id: 'con_1' }, content: 'Hello' },
  refs: ['contact:con_1'],
  byCreated: `2026-01-01T00:00:00.000Z${id}`,
});

const renamed = (name: string, version: number): Change => ({
  ...{ op: 'upsert', id: 'con_1', orgId: 'org_1', version, position: position(version) },
  ...{ time: new Date(0), own: { id: 'con_1', name, email: null } },
});

describe('a fan-out', () => {
  const left = 1_200;
  const ids = Array.from({ length: pageSize + left }, (_, index) => `msg_${String(index).padStart(6, '0')}`);
  let database: Db;
  let store: Store;
  let close = async () => {};

  beforeAll(async () => {
    ({ store, database, close } = await openEngineStore());
    await store.write(
      'message',
      ids.map((id) => ({ op: 'put', document: message(id), guard: null })),
    );
  }, 120_000);
  afterAll(() => close(), 60_000);

  /** Applies the change until `chunks` chunks have begun; gives the ids of the messages that were read. */
  const apply = async (change: Change, chunks = Infinity) => {
    const looked: string[] = [];
    const watched: Store = {
      ...store,
      readSome: (kind, some) => {
        if (kind === 'message') looked.push(...some);
        return store.readSome(kind, some);
      },
    };
    const checkpoint = () => {
      if (looked.length >= chunks * 500) throw new Error('broken off');
    };
    const options = { store: watched, now: () => new Date(0), tombstoneDays: 30, checkpoint };
    await applyChanges(options, 'contact', [change]).catch((error: Error) => {
      if (error.message !== 'broken off') throw error;
    });
    return looked;
  };
  const named = (name: string) =>
    collectionOf(database, 'message').countDocuments({ orgId: 'org_1', 'joined.author.name': name });

  it('goes on where it was broken off, and visits what came behind that place by its own event alone', async () => {
    // given a rename that was broken off behind its first page
    const first = await apply(renamed('Ada', 1), pageSize / 500 + 1);
    expect(first).toEqual(ids.slice(0, pageSize + 500));
    // and a document that came behind that place since
    await store.write('message', [{ op: 'put', document: message('msg_000000a'), guard: null }]);
    // when it is applied again, then it visits what is left, and no more
    expect(await apply(renamed('Ada', 1))).toEqual(ids.slice(pageSize));
    expect(await named('Ada')).toBe(ids.length);
    expect(await apply(renamed('Ada', 1))).toEqual([]);
  }, 60_000);

  it('begins anew for another state', async () => {
    // given one rename broken off behind its first page, when another comes
    await apply(renamed('Countess', 2), pageSize / 500 + 1);
    const all = await apply(renamed('Augusta', 3));
    // then every document is visited, and the place is forgotten
    expect(all).toHaveLength(ids.length + 1);
    expect(await named('Augusta')).toBe(ids.length + 1);
    expect((await store.read('contact', ['con_1']))[0]).not.toHaveProperty('reached');
  }, 60_000);
});
