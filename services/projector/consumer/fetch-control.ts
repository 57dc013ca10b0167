import type { Consumer, TopicPartitions } from 'kafkajs';
import { partitionKey, type TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { Partition } from '../partition/partition.ts';
import type { Positions } from '../partition/positions.ts';

/** How long fetching a partition pauses if its broker cannot deliver it, in milliseconds. */
const backOffMs = 1_000;

type FetchControlDeps = {
  /** The assigned partitions, by `<topic>/<partition>`. */
  assigned: ReadonlyMap<string, Partition>;
  positions: Pick<Positions, 'loadEnd' | 'onLoadChange'>;
  /** The share of the memory that each partition may take with its queued batches. */
  shareBytes: () => number;
  /** The most bytes of all queues together, beyond which each topic may take only its part. */
  queuedBytesMax: number;
};

export type FetchControl = {
  /** Pauses or resumes a partition whose queue has changed, and those that wait for memory. */
  update: (partition: Partition) => void;
  /**
   * Pauses a partition for a second, because its broker cannot deliver it now. Without the pause, the broker would
   * answer each fetch immediately, with the same error.
   */
  backOff: (partition: Partition) => void;
  /**
   * Pauses all partitions of a new assignment. Otherwise kafkajs would fetch them before their start offsets are known.
   */
  pauseAll: (topics: TopicPartitions[]) => void;
  /** Pauses every partition until the process ends. */
  stop: () => void;
};

/**
 * Decides which of the assigned partitions kafkajs fetches: those below their share of the memory, up to their load
 * end. A single batch may exceed the share. If all queues together exceed the memory, a topic that takes more than its
 * part pauses until its own queued records are applied. These may wait for their prerequisite topics, which never wait
 * for them, so no wait is endless (docs/internals/surroundings.md, 6).
 */
export function createFetchControl(
  { assigned, positions, shareBytes, queuedBytesMax }: FetchControlDeps,
  consumer: Pick<Consumer, 'pause' | 'resume'>,
): FetchControl {
  const paused = new Set<string>();
  const backingOff = new Set<Partition>();
  let isStopping = false;
  let fullTopics: ReadonlySet<string> = new Set();
  const pause = (place: TopicPartition): void => {
    const key = partitionKey(place);
    if (paused.has(key)) return;
    paused.add(key);
    ignoreRestart(() => consumer.pause(asTopics(place)));
  };
  const resume = (place: TopicPartition): void => {
    if (paused.delete(partitionKey(place))) ignoreRestart(() => consumer.resume(asTopics(place)));
  };
  const pauseOrResume = (partition: Partition): void => {
    const { topic, fetchState } = partition;
    if (fetchState.nextOffset === null) return;
    fetchState.setTopicFull(fullTopics.has(topic));
    const isFetchable = fetchState.isFetchable(positions.loadEnd(partitionKey(partition)));
    const hasMemory = partition.queuedBytes() <= shareBytes();
    const mayFetch = !isStopping && !backingOff.has(partition);
    if (isFetchable && hasMemory && mayFetch) resume(partition);
    else pause(partition);
  };
  const updateAll = () => {
    for (const partition of assigned.values()) pauseOrResume(partition);
  };
  const update = (partition: Partition): void => {
    if (assigned.get(partitionKey(partition)) !== partition) return;
    const wasAnyFull = fullTopics.size > 0;
    fullTopics = findFullTopics([...assigned.values()], queuedBytesMax);
    if (wasAnyFull || fullTopics.size > 0) updateAll();
    else pauseOrResume(partition);
  };
  const endBackOff = (partition: Partition): void => {
    backingOff.delete(partition);
    update(partition);
  };
  positions.onLoadChange(updateAll);
  return {
    update,
    backOff: (partition) => {
      partition.countBrokerWait();
      backingOff.add(partition);
      update(partition);
      setTimeout(() => endBackOff(partition), backOffMs).unref();
    },
    pauseAll: (topics) => {
      for (const place of placesIn(topics)) paused.add(partitionKey(place));
      consumer.pause(topics);
    },
    stop: () => {
      isStopping = true;
      updateAll();
    },
  };
}

/** Returns the topics whose queues take more than their part of the memory, if all queues exceed the memory. */
function findFullTopics(partitions: Partition[], bytesMax: number): Set<string> {
  const full = new Set<string>();
  if (queuedBytes(partitions) <= bytesMax) return full;
  for (const [topic, topicPartitions] of Map.groupBy(partitions, (partition) => partition.topic)) {
    const partBytes = (bytesMax * topicPartitions.length) / partitions.length;
    if (queuedBytes(topicPartitions) > partBytes) full.add(topic);
  }
  return full;
}

const queuedBytes = (partitions: Partition[]): number =>
  partitions.reduce((sum, partition) => sum + partition.queuedBytes(), 0);

const asTopics = ({ topic, partition }: TopicPartition): TopicPartitions[] => [
  { topic, partitions: [partition] },
];

export const placesIn = (topics: TopicPartitions[]): TopicPartition[] =>
  topics.flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, partition })));

/**
 * kafkajs throws at `pause` and `resume` while it restarts a consumer that has lost its brokers. When the consumer
 * rejoins its group, it pauses and starts all its partitions again.
 */
function ignoreRestart(change: () => void): void {
  try {
    change();
  } catch (error) {
    if (!String(error).includes('Consumer group was not initialized')) throw error;
  }
}
