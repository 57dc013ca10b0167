import type { EachBatchPayload } from 'kafkajs';
import { pino } from 'pino';
import { createAssignment } from './assignment.ts';
import { createPositions } from './positions.ts';
import { handleBatch } from './handle-batch.ts';

const logger = pino({ level: 'silent' });

/** One partition of topic `t`, and what kafkajs is asked to do. */
function given() {
  const applied: number[] = [];
  const assignment = createAssignment({
    queuedBytesMax: 1_000_000,
    apply: async (_, records) => {
      applied.push(...records.map(({ position }) => position.offset));
      return { events: records.length, rejected: 0, times: [], appliedToMs: null };
    },
    positions: createPositions(() => 0),
    prerequisitesOf: () => [],
    onApplied: () => undefined,
    logger,
  });
  const [partition] = assignment.replace({ t: [0] });
  if (!partition) throw new Error('nothing was assigned');
  const sought: string[] = [];
  const resolved: string[] = [];
  const consumer = { seek: ({ offset }: { offset: string }) => void sought.push(offset) };
  /** What kafkajs hands over: asked from `from`, holding these offsets, reaching to `to`. */
  const fetch = (from: number, offsets: number[], to: number, isStale = false) => {
    const messages = offsets.map((offset) => ({
      key: null,
      value: null,
      timestamp: '0',
      offset: `${offset}`,
    }));
    const batch = { topic: 't', partition: 0, fetchedOffset: `${from}`, messages, lastOffset: () => `${to}` };
    const payload = {
      batch,
      isStale: () => isStale,
      isRunning: () => true,
      resolveOffset: (offset: string) => void resolved.push(offset),
      pause: () => () => undefined,
    };
    handleBatch({ logger }, consumer, assignment, payload as unknown as EachBatchPayload);
  };
  return { assignment, partition, applied, sought, resolved, fetch };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a batch that was fetched', () => {
  it('is dropped before the place of its partition is known', async () => {
    const { partition, applied, resolved, fetch } = given();
    fetch(0, [0, 1], 1);
    await settled();
    expect({ applied, resolved, position: partition.position }).toEqual({
      applied: [],
      resolved: [],
      position: null,
    });
  });

  it('is applied where it was asked from what comes next', async () => {
    const { partition, applied, resolved, fetch } = given();
    partition.start(5);
    fetch(5, [5, 7], 8);
    await settled();
    expect({ applied, resolved, position: partition.position }).toEqual({
      applied: [5, 7],
      resolved: ['8'],
      position: 9,
    });
  });

  it('moves the position on though nothing but control records is in it', async () => {
    const { partition, applied, resolved, fetch } = given();
    partition.start(5);
    fetch(5, [], 6);
    await settled();
    expect({ applied, resolved, position: partition.position }).toEqual({
      applied: [],
      resolved: ['6'],
      position: 7,
    });
  });

  it.each([
    ['before', 0, [0, 1], 1],
    ['behind', 9, [9], 9],
    ['behind, of control records alone', 9, [], 9],
  ])('from %s what comes next has that fetched instead, and is not applied', async (_, from, offsets, to) => {
    const { assignment, partition, applied, sought, resolved, fetch } = given();
    partition.start(5);
    assignment.committed.set('t/0', 5);
    fetch(from, offsets, to);
    await settled();
    expect({ applied, sought, resolved, position: partition.position }).toEqual({
      applied: [],
      sought: ['5'],
      resolved: [],
      position: 5,
    });
    // and what kafkajs may have committed in its place is put right
    expect(assignment.committed.has('t/0')).toBe(false);
  });

  it('is dropped where another offset has been sought since', async () => {
    const { partition, applied, resolved, fetch } = given();
    partition.start(5);
    fetch(5, [5], 5, true);
    await settled();
    expect({ applied, resolved }).toEqual({ applied: [], resolved: [] });
  });
});
