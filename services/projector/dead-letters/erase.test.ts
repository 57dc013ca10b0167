import type { Change } from '../events/change.ts';
import type { StoredEnvelope } from '../materialize/store.ts';
import { erasuresAmong } from './erase.ts';

test('the dead letters of every deleted entity of a large batch are erased, read by 1,000 ids at a time', async () => {
  const reads: number[] = [];
  const readEnvelopes = async (_: string, ids: string[]) => {
    reads.push(ids.length);
    return ids.map(
      (id) => ({ _id: id, orgId: 'org_1', version: 2, deletedAt: new Date(0) }) as StoredEnvelope,
    );
  };
  const changes = Array.from(
    { length: 1_001 },
    (_, index) => ({ op: 'delete', id: `con_${index}`, orgId: 'org_1', version: 2 }) as Change,
  );
  const erasures = await erasuresAmong({ readEnvelopes }, 'contact', { changes, rejected: [] });
  expect(new Set(erasures.map(({ id }) => id)).size).toBe(1_001);
  expect(reads).toEqual([1_000, 1]);
});
