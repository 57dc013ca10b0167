import type { TopicPartitions } from 'kafkajs';
import { pino } from 'pino';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { rawBatch } from '../../../tests/support/example-responses.ts';
import { idle } from '../../../tests/support/idle.ts';
import { createPartition, received, startAt } from '../../../tests/support/start-partition.ts';
import type { Apply } from '../hand-over.ts';
import type { Partition } from '../partition/partition.ts';
import { createPositions } from '../partition/positions.ts';
import { createRecordQueue } from '../partition/record-queue.ts';
import { createWaitForPrerequisites } from '../partition/wait-for-prerequisites.ts';
import { createAssignment } from './assignment.ts';

const nothing = { events: 0, rejected: [], times: [] };
const partitionsOfTopic = 10;
const batchesOfPartition = 3;
const batchBytes = 100_000;
const queuedBytesMax = 1_000_000;

const topics = ['agents', 'channels', 'conversations', 'tickets'];
const allBefore = (topic: string) => topics.slice(0, topics.indexOf(topic));

/** A build that loads the topics. Each partition has a few large batches. */
function givenLoad(prerequisitesOf: (topic: string) => string[], apply: Apply) {
  const positions = createPositions(() => 0);
  const paused = new Set<string>();
  const keysOf = (topicPartitions: TopicPartitions[]) =>
    topicPartitions.flatMap(({ topic, partitions }) =>
      partitions.map((partition) => partitionKey({ topic, partition })),
    );
  const assignment = createAssignment(
    {
      createPartition: ({ topic, partition }, { loadWithinBudget, chunkBytesMax, onApplied }) =>
        createPartition({
          topic,
          partition,
          queue: createRecordQueue({ partition, loadWithinBudget, chunkBytesMax }),
          apply,
          waitForPrerequisites: createWaitForPrerequisites(positions, prerequisitesOf),
          onApplied,
          logger: pino({ level: 'silent' }),
        }),
      queuedBytesMax,
      positions,
    },
    {
      pause: (topicPartitions: unknown) =>
        keysOf(topicPartitions as TopicPartitions[]).forEach((key) => paused.add(key)),
      resume: (topicPartitions: unknown) =>
        keysOf(topicPartitions as TopicPartitions[]).forEach((key) => paused.delete(key)),
    },
  );
  const numbers = Array.from({ length: partitionsOfTopic }, (_, index) => index);
  const partitions = assignment.replace(
    Object.fromEntries(topics.map((topic) => [topic, numbers])),
    'member',
  );
  positions.setLoadEnds(
    new Map(partitions.map((partition) => [partitionKey(partition), batchesOfPartition])),
  );
  for (const partition of partitions) {
    partition.start(startAt(0), 0);
    assignment.updateFetching(partition);
  }
  return {
    partitions,
    /** Delivers a batch of one fetched partition, of the last topic that has one. Returns whether any is fetched. */
    fetch: (): boolean => {
      const partition = partitions.findLast((candidate) => !paused.has(partitionKey(candidate)));
      if (partition) deliver(partition);
      if (partition) assignment.updateFetching(partition);
      return partition !== undefined;
    },
    stop: () => assignment.stop(0),
  };
}

function deliver(partition: Partition): void {
  const offset = partition.fetchState.nextOffset ?? 0;
  const records = [{ offset, value: Buffer.alloc(batchBytes) }];
  partition.receive(received([rawBatch({ baseOffset: offset, lastOffset: offset, records })], offset + 1));
}

test.each([
  ['wait', allBefore],
  ['are applied', () => []],
])(
  'any number of partitions holds bounded bytes of large batches, while they %s',
  async (_, prerequisitesOf) => {
    const stuck = Promise.withResolvers<typeof nothing>();
    const { partitions, fetch, stop } = givenLoad(prerequisitesOf, () => stuck.promise);
    let fetched = 0;
    while (fetch()) {
      fetched += batchBytes;
      await idle();
    }
    expect(partitions.length * batchBytes).toBe(4 * queuedBytesMax);
    // All topics within the memory, then each topic within its part of it, and one batch beyond each of these bounds.
    expect(fetched).toBeLessThan(2 * queuedBytesMax + (1 + topics.length) * batchBytes);
    // The other partitions do not show a wait for their broker.
    expect(partitions.map((partition) => partition.snapshot().cause)).not.toContain('undelivered');
    stuck.resolve(nothing);
    await stop();
  },
);

test('queues that are full of records which wait for other topics do not stop these topics', async () => {
  const order: string[] = [];
  const { partitions, fetch, stop } = givenLoad(allBefore, async ({ topic }) => {
    order.push(topic);
    return nothing;
  });
  const isLoaded = () => partitions.every(({ position }) => position === batchesOfPartition);
  while (!isLoaded()) {
    fetch();
    await idle();
  }
  expect(order).toEqual(
    topics.flatMap((topic) => Array.from({ length: partitionsOfTopic * batchesOfPartition }, () => topic)),
  );
  await stop();
});
