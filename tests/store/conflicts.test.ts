import { storedDocument } from '../support/engine.ts';
import { useEngineStore } from './engine-store.ts';

const ids = Array.from({ length: 1_000 }, (_, index) => `tag_${String(index).padStart(4, '0')}`);
const rounds = 5;

const tag = (id: string, revision: number, by: string) => storedDocument({ id, name: by }, { revision });

describe('concurrent writers of the same documents', () => {
  const opened = useEngineStore();

  it('each learn which writes lost, in any order of the writes', async () => {
    const { store } = opened;
    await store.write(
      'tag',
      ids.map((id) => ({ op: 'put', document: tag(id, 0, 'first'), guard: null })),
    );
    const writers = ['a', 'b', 'c', 'd'];
    for (let round = 0; round < rounds; round += 1) {
      // given four writers of all documents, in two orders, between which PostgreSQL would have to break a deadlock
      const results = await Promise.all(
        writers.map((by, index) => {
          const writes = ids.map((id) => ({
            op: 'put' as const,
            document: tag(id, round + 1, by),
            guard: round,
          }));
          return store.write('tag', index % 2 === 0 ? writes : writes.reverse());
        }),
      );
      // then each document was written by one writer at most, and every other writer knows that it lost
      const { documents: found } = await store.readCurrent('tag', ids);
      expect(found).toHaveLength(ids.length);
      for (const { _id, state, revision } of found) {
        const winners = writers.filter((_, index) => !results[index]?.conflicted.has(_id));
        expect(winners.length).toBeLessThanOrEqual(1);
        if (winners.length === 1) expect([revision, state]).toMatchObject([round + 1, { name: winners[0] }]);
      }
      // and the next writer can write the documents that no writer has written
      await store.write(
        'tag',
        found
          .filter(({ revision }) => revision === round)
          .map(({ _id }) => ({ op: 'put' as const, document: tag(_id, round + 1, 'next'), guard: round })),
      );
    }
  });
});
