import type { Change } from '../events/change.ts';
import type { StoredEnvelope } from '../materialize/store.ts';
import { findErasures } from './erase.ts';

/** A deleted contact. */
const envelope = { _id: 'con_1', orgId: 'org_1', version: 2, deletedAt: new Date(0) } as StoredEnvelope;

test('a large batch erases the dead letters of all its deleted entities', async () => {
  const reads: number[] = [];
  const readEnvelopes = async (_: string, ids: string[]) => {
    reads.push(ids.length);
    return ids.map((id) => ({ ...envelope, _id: id }));
  };
  const changes = Array.from(
    { length: 1_001 },
    (_, index) => ({ op: 'delete', id: `con_${index}`, orgId: 'org_1', version: 2 }) as Change,
  );
  const erasures = await findErasures({ readEnvelopes }, 'contact', { changes, rejected: [] });
  expect(new Set(erasures.map(({ id }) => id)).size).toBe(1_001);
  expect(reads).toEqual([1_000, 1]);
});

test('a dead letter without a version is erased up to the latest tombstone of the entity', async () => {
  const positionAt = (ms: number) => ({ partition: 0, offset: ms, timestampMs: ms });
  const stored = { ...envelope, position: positionAt(10), tombstonePosition: positionAt(20) };
  const changes = [
    { op: 'delete', id: 'con_1', orgId: 'org_1', version: 2, position: positionAt(10) } as Change,
  ];
  const readEnvelopes = async () => [stored];
  const [erasure] = await findErasures({ readEnvelopes }, 'contact', { changes, rejected: [] });
  const isErased = (ms: number) =>
    erasure?.covers({
      _id: '',
      topic: 'support.contacts',
      subjects: ['con_1'],
      versioned: null,
      ...positionAt(ms),
    });
  expect([10, 20, 21].map(isErased)).toEqual([true, true, false]);
});

test('a dead letter of a version that only a tombstone has deleted is erased up to the tombstone', async () => {
  const positionAt = (ms: number) => ({ partition: 0, offset: ms, timestampMs: ms });
  const stored = { ...envelope, position: positionAt(10), tombstonePosition: positionAt(20) };
  const readEnvelopes = async () => [stored];
  const tombstone = { op: 'tombstone', id: 'con_1', position: positionAt(20) } as Change;
  const [erasure] = await findErasures({ readEnvelopes }, 'contact', { changes: [tombstone], rejected: [] });
  const isErased = (ms: number, version: number) =>
    erasure?.covers({
      _id: '',
      topic: 'support.contacts',
      subjects: ['con_1'],
      versioned: { id: 'con_1', version },
      ...positionAt(ms),
    });
  expect([19, 21].map((ms) => isErased(ms, 2))).toEqual([true, false]);
  expect(isErased(21, 1)).toBe(true);
});

test('a dead letter of a version whose tombstone was in a former log is not erased', async () => {
  const readEnvelopes = async () => [{ ...envelope, position: null }];
  const changes = [{ op: 'delete', id: 'con_1', orgId: 'org_1', version: 1 } as Change];
  const [erasure] = await findErasures({ readEnvelopes }, 'contact', { changes, rejected: [] });
  const isErased = (version: number) =>
    erasure?.covers({
      _id: '',
      topic: 'support.contacts',
      subjects: ['con_1'],
      versioned: { id: 'con_1', version },
      ...{ partition: 0, offset: 5, timestampMs: 5 },
    });
  expect([1, 2].map(isErased)).toEqual([true, false]);
});
