import type { Write } from '../../services/projector/materialize/store.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { storedDocument } from '../support/engine.ts';
import { openEngineStore, useEngineStore } from './engine-store.ts';

const ids = Array.from({ length: 2_000 }, (_, index) => `tag_${String(index).padStart(4, '0')}`);
const writers = ['a', 'b', 'c', 'd'];

test('a join of a missing document conflicts and creates no document', async () => {
  const { store, database, close } = await openEngineStore();
  try {
    const put = (id: string): Write => ({ op: 'put', document: storedDocument({ id }), guard: null });
    const join = (id: string, guard: number): Write => ({
      op: 'join',
      document: { _id: id, joined: {}, position: null, revision: 2 },
      guard,
    });
    await store.write('tag', ['a_kept', 'c_missing', 'd_kept', 'e_conflicted'].map(put));
    await collectionOf<{ _id: string }>(database, 'tag').deleteOne({ _id: 'c_missing' });
    // The driver sends the insert in a command of its own, so the index of a later update in the reply is one less.
    const writes = [
      join('a_kept', 1),
      put('b_new'),
      join('c_missing', 1),
      join('d_kept', 1),
      join('e_conflicted', 7),
    ];
    const readRevisions = async () => {
      const { documents } = await store.readCurrent(
        'tag',
        writes.map(({ document }) => document._id),
      );
      return documents.map(({ _id, revision }) => `${_id} ${revision}`).toSorted();
    };
    const { conflicted } = await store.write('tag', writes);
    expect([...conflicted.keys()].toSorted()).toEqual(['c_missing', 'e_conflicted']);
    expect(await readRevisions()).toEqual(['a_kept 2', 'b_new 1', 'd_kept 2', 'e_conflicted 1']);
    // The store must also see the conflict in a bulk write without an error.
    const alone = await store.write('tag', [join('c_missing', 1)]);
    expect([...alone.conflicted.keys()]).toEqual(['c_missing']);
    expect(await readRevisions()).toEqual(['a_kept 2', 'b_new 1', 'd_kept 2', 'e_conflicted 1']);
  } finally {
    await close();
  }
});

describe('concurrent writers of the same documents', () => {
  const opened = useEngineStore();
  const writesBy = (writer: string, revision: number, guard: number | null) =>
    ids.map((id): Write => ({
      op: 'put',
      document: storedDocument({ id, name: writer }, { revision }),
      guard,
    }));

  test('each learn which of their writes conflicted', async () => {
    await opened.store.write('tag', writesBy('first', 0, null));
    // given four writers of all documents, in two orders, between which PostgreSQL would have to break a deadlock
    const results = await Promise.all(
      writers.map((writer, index) => {
        const writes = writesBy(writer, 1, 0);
        return opened.store.write('tag', index % 2 === 0 ? writes : writes.reverse());
      }),
    );
    // then at most one writer has written each document, and every other writer knows of its conflict
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
