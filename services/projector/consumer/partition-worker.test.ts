import { pino } from 'pino';
import type { KafkaRecord } from '../events/change.ts';
import { createPartition, type Partition } from './partition-worker.ts';

const record = (offset: number): KafkaRecord => ({
  key: null,
  value: null,
  headers: {},
  position: { partition: 0, offset, timestampMs: 1_000 + offset },
});
const nothing = { events: 0, rejected: 0, times: [], appliedToMs: null };
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A partition at offset 5 whose steps are tried, fail and end when a test says so. */
function given() {
  const steps: {
    offsets: number[];
    end: () => void;
    fail: () => void;
    signal: AbortSignal;
    progress: () => void;
  }[] = [];
  const applied: (number | null)[] = [];
  const partition: Partition = createPartition({
    topic: 't',
    partition: 0,
    prerequisites: { wait: async () => undefined },
    apply: (records, { signal, onProgress }) =>
      new Promise((resolve, reject) => {
        const offsets = records.map(({ position }) => position.offset);
        const fail = () => reject(new Error('a store that refuses'));
        steps.push({ offsets, end: () => resolve(nothing), fail, signal, progress: onProgress });
      }),
    onApplied: (self) => applied.push(self.position),
    logger: pino({ level: 'silent' }),
    retryDelayMs: 0,
  });
  partition.start(5);
  partition.push({ records: [record(5), record(7)], nextOffset: 9, bytes: 100 });
  return { partition, steps, applied };
}

describe('the position of a partition', () => {
  it('stays before a step until its effect is durable', async () => {
    const { partition, steps, applied } = given();
    await settled();
    expect(steps.map(({ offsets }) => offsets)).toEqual([[5, 7]]);
    expect(partition.position).toBe(5);
    steps[0]?.end();
    await settled();
    expect([partition.position, applied]).toEqual([9, [9]]);
  });

  it('stays there while the step fails, and is tried again', async () => {
    const { partition, steps } = given();
    await settled();
    steps[0]?.fail();
    while (steps.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    expect(partition.position).toBe(5);
    expect(steps[1]?.offsets).toEqual([5, 7]);
    steps[1]?.end();
    await settled();
    expect(partition.position).toBe(9);
  });

  it('stays there where the step is broken off', async () => {
    const { partition, steps } = given();
    await settled();
    const stopped = partition.stop(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(() => steps[0]?.signal.throwIfAborted()).toThrow('no longer assigned');
    steps[0]?.fail();
    await stopped;
    expect(partition.position).toBe(5);
  });
});

describe('what waits', () => {
  it('is what was fetched and has had no effect yet, oldest first', async () => {
    const { partition, steps } = given();
    await settled();
    partition.push({ records: [record(9)], nextOffset: 10, bytes: 50 });
    const waiting = () => partition.waiting().map(({ position }) => position.offset);
    await settled();
    expect([waiting(), partition.queuedBytes()]).toEqual([[5, 7, 9], 150]);
    steps[0]?.end();
    await settled();
    expect([waiting(), partition.queuedBytes()]).toEqual([[9], 50]);
    steps[1]?.end();
    await settled();
    expect([waiting(), partition.queuedBytes()]).toEqual([[], 0]);
  });
});

describe('the progress of a partition', () => {
  it('counts what an attempt gets done beyond those before it, and no attempt', async () => {
    const { partition, steps } = given();
    // given an attempt that gets two chunks done and fails
    await settled();
    steps[0]?.progress();
    steps[0]?.progress();
    expect(partition.progressCount).toBe(2);
    steps[0]?.fail();
    // when the next ones get as far, then that is no progress
    while (steps.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    steps[1]?.progress();
    steps[1]?.progress();
    expect(partition.progressCount).toBe(2);
    // while a third chunk is
    steps[1]?.progress();
    expect(partition.progressCount).toBe(3);
    steps[1]?.end();
    await settled();
  });
});
