import type { Applied } from '../apply.ts';
import type { BusRecord } from '../events/change.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { createPartition, type Partition } from './partition.ts';
import type { Fetched } from './steps.ts';

/** Of all that may be queued, the share of one partition. */
const partitionShare = 1 / 8;

/** The partitions that the group has given this process, with what holds their queues within bounds. */
export type Assignment = {
  all: () => Partition[];
  get: (key: string) => Partition | undefined;
  /** Offsets as last committed, by `<topic>/<partition>`. */
  committed: Map<string, number>;
  /** Takes over a new assignment; work on what was assigned before is broken off. */
  replace: (memberAssignment: Record<string, number[]>) => Partition[];
  /** Queues what was fetched; `pause` stops fetching the partition until there is room again. */
  queue: (partition: Partition, fetched: Fetched, pause?: () => () => void) => void;
};

export type AssignmentDeps = {
  /** Bytes that all partitions may hold, queued or being applied, before fetching pauses. */
  queuedBytesMax: number;
  apply: (topic: string, records: BusRecord[], checkpoint: () => void) => Promise<Applied>;
  onApplied: (partition: Partition, applied: Applied) => void;
  logger: Logger;
};

export function createAssignment(deps: AssignmentDeps): Assignment {
  const { queuedBytesMax } = deps;
  const queuedBytesPerPartitionMax = queuedBytesMax * partitionShare;
  const assigned = new Map<string, Partition>();
  const paused = new Map<string, () => void>();
  const committed = new Map<string, number>();
  const queuedBytes = () => [...assigned.values()].reduce((sum, item) => sum + item.queuedBytes(), 0);

  const relieve = () => {
    if (queuedBytes() > queuedBytesMax / 2) return;
    for (const [key, resume] of paused) {
      if ((assigned.get(key)?.queuedBytes() ?? 0) > queuedBytesPerPartitionMax / 2) continue;
      paused.delete(key);
      resume();
    }
  };
  const add = (topic: string, partition: number, after: Promise<void> | undefined) => {
    const created = createPartition({
      topic,
      partition,
      logger: deps.logger,
      retryDelayMs: 500,
      apply: async (records, checkpoint) => {
        await after;
        return deps.apply(topic, records, checkpoint);
      },
      onApplied: (self, applied) => {
        deps.onApplied(self, applied);
        relieve();
      },
    });
    assigned.set(`${topic}/${partition}`, created);
  };

  return {
    all: () => [...assigned.values()],
    get: (key) => assigned.get(key),
    committed,
    replace: (memberAssignment) => {
      // What is under way on a partition ends before its records are applied again.
      const ended = new Map([...assigned].map(([key, partition]) => [key, partition.stop(0)]));
      assigned.clear();
      committed.clear();
      for (const resume of paused.values()) resume();
      paused.clear();
      for (const [topic, partitions] of Object.entries(memberAssignment)) {
        for (const partition of partitions) add(topic, partition, ended.get(`${topic}/${partition}`));
      }
      return [...assigned.values()];
    },
    queue: (partition, fetched, pause) => {
      partition.push(fetched);
      if (!pause) return;
      if (partition.queuedBytes() > queuedBytesPerPartitionMax || queuedBytes() > queuedBytesMax) {
        paused.set(`${partition.topic}/${partition.partition}`, pause());
      }
    },
  };
}
