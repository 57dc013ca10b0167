import type { Write } from '../../services/projector/materialize/store.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { storedDocument } from '../support/engine.ts';
import { openEngineStore, useEngineStore } from './engine-store.ts';

const ids = Array.from({ length: 2_000 }, (_, index) => `tag_${String(index).padStart(4, '0')}`);
const writers = ['a', 'b', 'c', 'd'];

test('a join of a document that is gone conflicts, and leaves nothing of it', async () => {
  const { store, database, close } = await openEngineStore();
  try {
    const put = (id: string): Write => ({ op: 'put', document: storedDocument({ id }), guard: null });
    const join = (id: string, guard: number): Write => ({
      op: 'join',
      document: { _id: id, joined: {}, position: null, revision: 2 },
      guard,
    });
    await store.write('tag', ['a_kept', 'c_gone', 'd_kept', 'e_lost'].map(put));
    await collectionOf<{ _id: string }>(database, 'tag').deleteOne({ _id: 'c_gone' });
    // The driver sends an insert apart from the updates, and then counts the places of the updates without the insert.
    const writes = [join('a_kept', 1), put('b_new'), join('c_gone', 1), join('d_kept', 1), join('e_lost', 7)];
    const stored = async () => {
      const { documents } = await store.readCurrent(
        'tag',
        writes.map(({ document }) => document._id),
      );
      return documents.map(({ _id, revision }) => `${_id} ${revision}`).toSorted();
    };
    const { conflicted } = await store.write('tag', writes);
    expect([...conflicted.keys()].toSorted()).toEqual(['c_gone', 'e_lost']);
    expect(await stored()).toEqual(['a_kept 2', 'b_new 1', 'd_kept 2', 'e_lost 1']);
    // Another bulk, in which no write fails.
    expect([...(await store.write('tag', [join('c_gone', 1)])).conflicted.keys()]).toEqual(['c_gone']);
    expect(await stored()).toEqual(['a_kept 2', 'b_new 1', 'd_kept 2', 'e_lost 1']);
  } finally {
    await close();
  }
});

describe('concurrent writers of the same documents', () => {
  const opened = useEngineStore();
  const writesBy = (by: string, revision: number, guard: number | null) =>
    ids.map((id): Write => ({ op: 'put', document: storedDocument({ id, name: by }, { revision }), guard }));

  it('each learn which writes lost, in any order of the writes', async () => {
    await opened.store.write('tag', writesBy('first', 0, null));
    // given four writers of all documents, in two orders, between which PostgreSQL would have to break a deadlock
    const results = await Promise.all(
      writers.map((by, index) => {
        const writes = writesBy(by, 1, 0);
        return opened.store.write('tag', index % 2 === 0 ? writes : writes.reverse());
      }),
    );
    // then at most one writer has written each document, and every other writer knows that its write lost
    const { documents } = await opened.store.readCurrent('tag', ids);
    expect(documents).toHaveLength(ids.length);
    for (const { _id, state, revision } of documents) {
      const winners = writers.filter((_, index) => !results[index]?.conflicted.has(_id));
      expect(winners.length).toBeLessThanOrEqual(1);
      if (winners.length === 1)
        expect({ revision, state }).toMatchObject({ revision: 1, state: { name: winners[0] } });
    }
  });
});
