import { pino } from 'pino';
import type { TopicPartitions } from 'kafkajs';
import { rawBatch } from '../../../tests/support/example-responses.ts';
import { partitionKey } from '../kafka/topic-partition.ts';
import { createAssignment, type AssignmentDeps } from './assignment.ts';
import type { PartitionWorker } from './partition-worker.ts';
import { createPositions } from './positions.ts';

const megabyte = 1024 * 1024;
const nothing = { events: 0, rejected: 0, times: [] };
const idle = () => new Promise((resolve) => setImmediate(resolve));

/** An assignment, and the partitions that kafkajs does not fetch. */
function given(apply: AssignmentDeps['apply']) {
  const positions = createPositions(() => 0);
  const paused = new Set<string>();
  const keys = (some: TopicPartitions[]) =>
    some.flatMap(({ topic, partitions }) =>
      partitions.map((partition) => partitionKey({ topic, partition })),
    );
  const assignment = createAssignment(
    {
      ...{ queuedBytesMax: 16 * megabyte, apply, positions, prerequisitesOf: () => [] },
      ...{ onApplied: () => undefined, logger: pino({ level: 'silent' }) },
    },
    {
      pause: (some) => keys(some as TopicPartitions[]).forEach((key) => paused.add(key)),
      resume: (some) => keys(some as TopicPartitions[]).forEach((key) => paused.delete(key)),
    },
  );
  const start = (worker: PartitionWorker) => {
    worker.start(0);
    assignment.updateFetching(worker);
  };
  /** Queues one record, at the offset that the worker needs next. */
  const fetched = (worker: PartitionWorker, bytes = 1) => {
    const offset = worker.nextFetchOffset ?? 0;
    const records = [{ offset, value: Buffer.alloc(bytes) }];
    worker.nextFetchOffset = offset + 1;
    worker.push([rawBatch({ baseOffset: offset, lastOffset: offset, records })], offset + 1);
    assignment.updateFetching(worker);
  };
  return { assignment, positions, paused, start, fetched };
}

/** An apply function that waits until it is released. */
function stuck() {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  return { released, release: () => release() };
}

it('stuck partitions do not keep another partition from being resumed', async () => {
  // given 31 stuck partitions and a free one
  const { released, release } = stuck();
  const { assignment, paused, start, fetched } = given(async (topic) => {
    if (topic === 'stuck') await released;
    return nothing;
  });
  const workers = assignment.replace({ stuck: Array.from({ length: 31 }, (_, index) => index), free: [0] });
  workers.forEach(start);
  expect(paused.size).toBe(0);
  // when all of them are fetched until they pause
  for (const worker of workers) for (let count = 0; count < 2; count += 1) fetched(worker, megabyte);
  expect(paused.size).toBe(32);
  // then the free one is resumed
  while (paused.has('free/0')) await idle();
  expect(paused.size).toBe(31);
  release();
  await Promise.all(workers.map((worker) => worker.stop(0)));
});

it('a partition that is assigned again is not fetched before its start offset is known, nor applied twice at once', async () => {
  const { released, release } = stuck();
  const applied: number[] = [];
  const { assignment, paused, start, fetched } = given(async (_, records) => {
    applied.push(...records.map(({ position }) => position.offset));
    await released;
    return nothing;
  });
  // given a worker that applies a batch while its partition is assigned again
  const [first] = assignment.replace({ t: [0] });
  if (!first) throw new Error('nothing is assigned');
  start(first);
  fetched(first);
  while (applied.length === 0) await idle();
  const [second] = assignment.replace({ t: [0] });
  if (!second) throw new Error('nothing is assigned');
  second.start(0);
  fetched(second);
  assignment.updateFetching(first);
  expect([...paused]).toEqual([]);
  await idle();
  // then the new worker applies nothing before the old one has ended
  expect(applied).toEqual([0]);
  // and the end of the old one does not resume a partition that is still without a start offset
  const [third] = assignment.replace({ t: [0] });
  release();
  await second.stop(0);
  assignment.updateFetching(first);
  expect([...paused]).toEqual(['t/0']);
  await third?.stop(0);
});

it('a batch without a record, of control records alone, moves the position that others wait for', async () => {
  const { assignment, positions } = given(() => Promise.reject(new Error('there is nothing to apply')));
  const [worker] = assignment.replace({ contacts: [0] });
  if (!worker) throw new Error('nothing is assigned');
  worker.start(7);
  worker.push([], 8);
  await idle();
  expect(positions.isApplied('contacts/0', 7)).toBe(true);
  await worker.stop(0);
});

it('a partition is fetched up to its load end, and further when the load is over', () => {
  const { assignment, positions, paused, start, fetched } = given(async () => nothing);
  positions.load(new Map([['tags/0', 1]]));
  const [worker, added] = assignment.replace({ tags: [0, 1] });
  if (!worker || !added) throw new Error('nothing is assigned');
  start(worker);
  start(added);
  expect([...paused]).toEqual(['tags/1']);
  fetched(worker);
  expect([...paused].sort()).toEqual(['tags/0', 'tags/1']);
  positions.load(null);
  expect([...paused]).toEqual([]);
});
