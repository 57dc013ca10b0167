import { createPartition, startAt } from '../../../tests/support/start-partition.ts';
import { createTestPartition, until } from '../../../tests/support/test-partition.ts';
import type { Partition } from './partition.ts';

describe('the cause for which the records of a partition wait', () => {
  const causeOf = (partition: Partition) => partition.snapshot().cause;

  const startedAt = (offset: number): Partition => {
    const partition = createPartition({ apply: () => new Promise(() => undefined) });
    partition.start(startAt(offset), offset);
    return partition;
  };
  const unreadableAt = (offset: number): Partition => {
    const partition = startedAt(offset);
    partition.fetchState.onFetchFailed('UNKNOWN');
    return partition;
  };

  test('is the start, then the broker, and none once the partition is stopped', async () => {
    const partition = createPartition({ apply: () => new Promise(() => undefined) });
    expect(causeOf(partition)).toBe('starting');
    partition.start(startAt(5), 5);
    expect(causeOf(partition)).toBe('undelivered');
    await partition.stop(0);
    expect(causeOf(partition)).toBeUndefined();
  });

  test('the cause follows the reports of the attempt', async () => {
    const { partition, attempt } = createTestPartition();
    const first = await attempt(0);
    first.onOneAtATimeWait?.(true);
    expect(causeOf(partition)).toBe('one_at_a_time');
    first.onOneAtATimeWait?.(false);
    expect(causeOf(partition)).toBe('backlog');
    first.onFanOut?.(700);
    expect(partition.snapshot()).toMatchObject({ cause: 'fan_out', fanOutWaiting: 700 });
    first.onConflicting?.();
    expect(causeOf(partition)).toBe('conflicting');
    first.onProgress();
    expect(causeOf(partition)).toBe('fan_out');
    first.fail();
    const second = await attempt(1);
    expect(partition.snapshot()).toMatchObject({ cause: 'failing', fanOutWaiting: 0 });
    // The cause stays the failure while the next attempt waits for another partition.
    second.onOneAtATimeWait?.(true);
    expect(partition.snapshot()).toMatchObject({ cause: 'failing', isQueued: true });
    second.onOneAtATimeWait?.(false);
    expect(partition.snapshot()).toMatchObject({ cause: 'failing' });
    expect(partition.snapshot().isQueued).toBeUndefined();
    second.end();
    await until(() => causeOf(partition) === 'undelivered');
  });

  test('the cause stays the failure while the documents of the next attempt are written again and again', async () => {
    const { partition, attempt } = createTestPartition();
    (await attempt(0)).fail();
    const second = await attempt(1);
    second.onConflicting?.();
    expect(causeOf(partition)).toBe('failing');
    second.onProgress();
    expect(causeOf(partition)).toBe('failing');
    second.end();
    await until(() => causeOf(partition) === 'undelivered');
  });

  test.each([
    ['the start offset', () => createPartition({ apply: () => new Promise(() => undefined) }), undefined],
    ['an open transaction', () => startedAt(5), { end: 12, stable: 5 }],
    ['the broker', () => unreadableAt(5), undefined],
  ])('is absent once the partition is stopped, after a wait for %s', async (_, create, log) => {
    const partition = create();
    expect(partition.snapshot(log).cause).not.toBe('undelivered');
    await partition.stop(0);
    expect(partition.snapshot(log).cause).toBeUndefined();
  });

  test.each([
    ['at the last stable offset is an open transaction', { end: 12, stable: 5 }, 'open_transaction'],
    ['before the last stable offset follows the state', { end: 12, stable: 9 }, 'fan_out'],
    ['without an open transaction follows the state', { end: 9, stable: 9 }, 'fan_out'],
  ])('%s', async (_, log, cause) => {
    const { partition, attempt } = createTestPartition();
    (await attempt(0)).onFanOut?.(1);
    expect(partition.snapshot(log).cause).toBe(cause);
  });

  test('is the broker that cannot read the partition, once the fetched records are applied', async () => {
    const { partition, attempt } = createTestPartition();
    (await attempt(0)).fail();
    partition.fetchState.onFetchFailed('UNKNOWN');
    const secondAttempt = await attempt(1);
    expect(causeOf(partition)).toBe('failing');
    secondAttempt.end();
    await until(() => partition.position === 9);
    expect(causeOf(partition)).toBe('unreadable');
    partition.fetchState.onFetchSucceeded();
    expect(causeOf(partition)).toBe('undelivered');
  });

  test('is a new leader until its log is compared', () => {
    const partition = startedAt(5);
    partition.fetchState.setUncomparedEpoch(4);
    expect(causeOf(partition)).toBe('new_leader');
    partition.fetchState.setComparedEpoch(4);
    expect(causeOf(partition)).toBe('undelivered');
  });

  test('is not the broker at the end of a load', () => {
    const partition = startedAt(5);
    expect([5, 6].map((loadEnd) => partition.snapshot(undefined, loadEnd).cause)).toEqual([
      'backlog',
      'undelivered',
    ]);
  });

  test('counts a fetch as progress only while no chunk is applied', async () => {
    const progress = (observed: Partition) => observed.snapshot().progressCount;
    const waiting = startedAt(5);
    waiting.onFetched();
    expect(progress(waiting)).toBe(1);
    const { partition: applying, attempt } = createTestPartition();
    await attempt(0);
    const countBefore = progress(applying);
    applying.onFetched();
    expect(progress(applying)).toBe(countBefore);
  });
});
