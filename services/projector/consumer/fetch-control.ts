import type { Consumer, TopicPartitions } from 'kafkajs';
import { partitionKey, type TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { Partition } from '../partition/partition.ts';
import type { Positions } from '../partition/positions.ts';

/** The pause of a partition that its broker cannot deliver, in milliseconds. */
const backOffMs = 1_000;

type FetchControlDeps = {
  /** The assigned partitions, by `<topic>/<partition>`. */
  assigned: ReadonlyMap<string, Partition>;
  positions: Pick<Positions, 'loadEnd' | 'onLoadChange'>;
  /** The share of the memory that each partition may take with its queued batches. */
  shareBytes: () => number;
};

export type FetchControl = {
  /** Resumes a partition below its share of the memory and its load end, and pauses any other. */
  update: (partition: Partition) => void;
  /**
   * Pauses a partition for a second, because its broker cannot deliver it now. Without the pause, the broker would
   * answer each fetch at once, and with the same error.
   */
  backOff: (partition: Partition) => void;
  /** Pauses all partitions of a new assignment: kafkajs would fetch them before their start offsets are known. */
  pauseAll: (topics: TopicPartitions[]) => void;
  /** Pauses every partition for good. */
  stop: () => void;
};

/** Decides which of the assigned partitions kafkajs fetches. */
export function createFetchControl(
  { assigned, positions, shareBytes }: FetchControlDeps,
  consumer: Pick<Consumer, 'pause' | 'resume'>,
): FetchControl {
  const paused = new Set<string>();
  const backingOff = new Set<Partition>();
  let isStopping = false;
  const update = (partition: Partition): void => {
    const key = partitionKey(partition);
    const { nextOffset } = partition.fetchState;
    if (assigned.get(key) !== partition || nextOffset === null) return;
    const hasCapacity = !backingOff.has(partition) && partition.queuedBytes() <= shareBytes();
    const isDue = !isStopping && hasCapacity && nextOffset < positions.loadEnd(key);
    if (isDue) resume(partition);
    else pause(partition);
  };
  const updateAll = () => [...assigned.values()].forEach(update);
  const pause = (place: TopicPartition): void => {
    const key = partitionKey(place);
    if (paused.has(key)) return;
    paused.add(key);
    ignoreRestart(() => consumer.pause(onlyThis(place)));
  };
  const resume = (place: TopicPartition): void => {
    if (paused.delete(partitionKey(place))) ignoreRestart(() => consumer.resume(onlyThis(place)));
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

const onlyThis = ({ topic, partition }: TopicPartition): TopicPartitions[] => [
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
