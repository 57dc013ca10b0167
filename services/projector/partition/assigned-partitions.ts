import type { TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { LogState } from '../../../shared/kafka/log-client.ts';
import type { AppliedChunk } from '../hand-over.ts';
import type { Partition, PartitionDeps } from './partition.ts';
import type { RecordQueueDeps } from './record-queue.ts';
import type { Snapshot } from './snapshot.ts';

/** The partitions that the group has assigned to this process, as the commit loop and the loops beside it need them. */
export type AssignedPartitions = {
  /** Calls `listener` after each later chunk that is applied. */
  onApplied: (listener: (place: TopicPartition, applied: AppliedChunk) => void) => void;
  /** The progress of each assigned partition, and the reason why its records wait. */
  snapshot: (ends?: LogState['ends']) => Snapshot[];
  /** Looks for gaps in the logs of the partitions. A gap ends the process. The commit loop calls this once a second. */
  detectGaps: (log: LogState) => Promise<void>;
  /** Commits the offsets of a snapshot whose progress has been saved. */
  commit: (snapshot: Snapshot[]) => Promise<void>;
};

/** The parts that all partitions of a process share. */
export type SharedByPartitions = Pick<PartitionDeps, 'onApplied'> &
  Pick<RecordQueueDeps, 'loadWithinBudget' | 'chunkBytesMax'>;

/** Creates a partition that is assigned to this process. */
export type CreatePartition = (place: TopicPartition, shared: SharedByPartitions) => Partition;
