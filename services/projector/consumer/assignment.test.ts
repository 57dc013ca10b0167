import { KafkaJSNonRetriableError } from 'kafkajs';
import { idle } from '../../../tests/support/idle.ts';
import { mebibyte } from '../../../tests/support/memory.ts';
import { createTestAssignment, nothing } from '../../../tests/support/test-assignment.ts';

test('a stopping assignment fetches no partition', async () => {
  const batch = Promise.withResolvers<typeof nothing>();
  const { assignment, paused, applied, start, queueRecord } = createTestAssignment(() => batch.promise);
  const partitions = assignment.replace({ t: [0, 1] }, 'member');
  for (const partition of partitions) start(partition);
  expect([...paused]).toEqual([]);
  const [first] = partitions;
  if (!first) throw new Error('nothing is assigned');
  queueRecord(first);
  while (applied.length === 0) await idle();
  const stopped = assignment.stop(3_600_000);
  expect(paused.size).toBe(2);
  batch.resolve(nothing);
  await stopped;
  expect({ position: first.position, paused: paused.size }).toEqual({ position: 1, paused: 2 });
});

test('a partition is resumed beside stuck partitions', async () => {
  const stuck = Promise.withResolvers<typeof nothing>();
  const { assignment, paused, start, queueRecord } = createTestAssignment(({ topic }) =>
    topic === 'stuck' ? stuck.promise : Promise.resolve(nothing),
  );
  const memberAssignment = { stuck: Array.from({ length: 31 }, (_, index) => index), free: [0] };
  const partitions = assignment.replace(memberAssignment, 'member');
  for (const partition of partitions) start(partition);
  expect(paused.size).toBe(0);
  // All partitions are fetched until they pause.
  for (const partition of partitions) {
    for (let count = 0; count < 2; count += 1) queueRecord(partition, mebibyte);
  }
  expect(paused.size).toBe(32);
  while (paused.has('free/0')) await idle();
  expect(paused.size).toBe(31);
  stuck.resolve(nothing);
  await Promise.all(partitions.map((partition) => partition.stop(0)));
});

describe('while kafkajs restarts its consumer, and throws at `pause` and `resume`', () => {
  const restartError = () =>
    new KafkaJSNonRetriableError('Consumer group was not initialized, consumer#run must be called first');

  test('a partition applies its queue, and is fetched after the next assignment', async () => {
    const stuck = Promise.withResolvers<typeof nothing>();
    const { assignment, positions, paused, applied, assign, start, queueRecord, ...consumer } =
      createTestAssignment(() => stuck.promise);
    const partition = assign();
    start(partition);
    // The partition is paused, because its queue exceeds its share.
    for (let count = 0; count < 3; count += 1) queueRecord(partition, mebibyte);
    expect([...paused]).toEqual(['t/0']);
    consumer.failFetchControl(restartError());
    stuck.resolve(nothing);
    while (applied.length < 3) await idle();
    await idle();
    expect(positions.isApplied('t/0', 2)).toBe(true);
    // The partition is fetched again once the consumer is back in its group.
    consumer.restoreFetchControl();
    start(assign());
    expect([...paused]).toEqual([]);
    assignment.updateFetching(partition);
  });

  test('any other error is thrown', () => {
    const { positions, assign, start, failFetchControl } = createTestAssignment();
    positions.setLoadEnds(new Map());
    start(assign());
    failFetchControl(new TypeError('a bug'));
    expect(() => positions.setLoadEnds(null)).toThrow('a bug');
  });
});

test('a reassigned partition is not fetched before its start offset is known', async () => {
  const stuck = Promise.withResolvers<typeof nothing>();
  const { assignment, assign, applied, paused, start, queueRecord } = createTestAssignment(
    () => stuck.promise,
  );
  // The partition applies a chunk while it is assigned again.
  const first = assign();
  start(first);
  queueRecord(first);
  while (applied.length === 0) await idle();
  const second = assign();
  // The end of that chunk does not resume the new partition, which has no start offset yet.
  stuck.resolve(nothing);
  await first.stop(0);
  assignment.updateFetching(first);
  expect([...paused]).toEqual(['t/0']);
  start(second);
  expect([...paused]).toEqual([]);
  await second.stop(0);
});

test('a partition continues if the same member gets it again', async () => {
  const stuck = Promise.withResolvers<typeof nothing>();
  const lostSignals: AbortSignal[] = [];
  const { assignment, assign, paused, start, queueRecord } = createTestAssignment((_, { signal }) => {
    lostSignals.push(signal);
    return stuck.promise;
  });
  // A partition without a start offset cannot continue.
  const unstarted = assign('member');
  const partition = assign('member');
  expect(partition).not.toBe(unstarted);
  start(partition);
  queueRecord(partition);
  while (lostSignals.length === 0) await idle();
  const [lostSignal] = lostSignals;
  expect(assign('member')).toBe(partition);
  expect({ isLost: lostSignal?.aborted, paused: [...paused] }).toEqual({ isLost: false, paused: ['t/0'] });
  assignment.updateFetching(partition);
  expect([...paused]).toEqual([]);
  // Another member begins at the recorded position, because other members may have applied more records.
  expect(assign('other')).not.toBe(partition);
  while (!lostSignal?.aborted) await idle();
  stuck.resolve(nothing);
});
