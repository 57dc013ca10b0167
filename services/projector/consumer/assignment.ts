import type { Applied, Work } from '../pipeline/apply-records.ts';
import type { KafkaRecord } from '../events/change.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { createPartition, keyOf, type Partition } from './partition-worker.ts';
import type { Positions } from './positions.ts';
import type { Fetched } from './batches.ts';
import { createPrerequisiteWait } from './prerequisite-topics.ts';

/** So much of all that may be queued one partition takes at most, however few there are. */
const partitionShareMax = 1 / 8;

/** The partitions that the group has given this process, with what holds their queues within bounds. */
export type Assignment = {
  all: () => Partition[];
  get: (key: string) => Partition | undefined;
  /** Offsets as last committed, by `<topic>/<partition>`. */
  committed: Map<string, number>;
  positions: Positions;
  /** Takes over a new assignment; work on what was assigned before is broken off. */
  replace: (memberAssignment: Record<string, number[]>) => Partition[];
  /** Queues what was fetched; `pause` stops fetching the partition until there is room again. */
  queue: (partition: Partition, fetched: Fetched, pause: () => () => void) => void;
};

export type AssignmentDeps = {
  /**
   * Bytes that all partitions together may hold, queued or being applied. Each has an equal share, above which it
   * is not fetched, so that none waits for another; what one fetch brings may come on top.
   */
  queuedBytesMax: number;
  apply: (topic: string, records: KafkaRecord[], work: Work) => Promise<Applied>;
  positions: Positions;
  /** The topics whose entities the documents of a topic refer to. */
  prerequisitesOf: (topic: string) => string[];
  onApplied: (partition: Partition, applied: Applied) => void;
  logger: Logger;
};

export function createAssignment(deps: AssignmentDeps): Assignment {
  const { queuedBytesMax } = deps;
  const assigned = new Map<string, Partition>();
  const paused = new Map<string, () => void>();
  const committed = new Map<string, number>();
  const share = () => queuedBytesMax * Math.min(partitionShareMax, 1 / assigned.size);
  const relieve = (partition: Partition) => {
    const key = keyOf(partition);
    const resume = paused.get(key);
    if (!resume || assigned.get(key) !== partition || partition.queuedBytes() > share()) return;
    paused.delete(key);
    resume();
  };
  const add = (topic: string, partition: number, after: Promise<void> | undefined) => {
    const created = createPartition({
      topic,
      partition,
      logger: deps.logger,
      retryDelayMs: 500,
      prerequisites: createPrerequisiteWait(deps.positions, deps.prerequisitesOf),
      apply: async (records, work) => {
        await after;
        return deps.apply(topic, records, work);
      },
      onApplied: (self, applied) => {
        deps.positions.report(keyOf(self), { position: self.position ?? 0 });
        deps.onApplied(self, applied);
        relieve(self);
      },
    });
    assigned.set(keyOf(created), created);
  };

  return {
    all: () => [...assigned.values()],
    get: (key) => assigned.get(key),
    committed,
    positions: deps.positions,
    replace: (memberAssignment) => {
      // What is under way on a partition ends before its records are applied again.
      const ended = new Map([...assigned].map(([key, partition]) => [key, partition.stop(0)]));
      assigned.clear();
      committed.clear();
      paused.clear();
      for (const [topic, partitions] of Object.entries(memberAssignment)) {
        for (const partition of partitions) add(topic, partition, ended.get(keyOf({ topic, partition })));
      }
      return [...assigned.values()];
    },
    queue: (partition, fetched, pause) => {
      partition.push(fetched);
      if (partition.queuedBytes() > share()) paused.set(keyOf(partition), pause());
    },
  };
}
