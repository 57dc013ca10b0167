import type { HoldCause } from '../../../shared/control/hold-causes.ts';
import type { TopicPartition } from '../../../shared/control/topic-partition.ts';

/** The progress of a partition at one moment. The commit loop saves snapshots, then commits the same snapshots. */
export type Snapshot = TopicPartition & {
  /** The offset of the next record to apply; null until the start offset is found. */
  position: number | null;
  /** The leader epoch of the record batch before the position, or `unknownEpoch`. */
  leaderEpoch: number;
  /** The id of the topic whose records were applied; null if it is unknown. */
  topicId: string | null;
  /** Counts the progress within a chunk, so that liveness does not take a long chunk for a stuck partition. */
  progressCount: number;
  /** The number of documents that a fan-out in progress has still to refresh, as far as known. */
  fanOutWaiting: number;
  /** Set while the partition's chunk waits for the chunk of another partition. Liveness then checks that partition. */
  isQueued?: true;
  /** The reason why records of the partition wait, if there are any; absent once it is stopped. */
  cause?: HoldCause;
  /** How long a quota makes the client wait, in milliseconds. Set if records are undelivered because of the quota. */
  throttledMs?: number;
};

/** A snapshot of a partition whose start offset is found. */
export type StartedSnapshot = Snapshot & { position: number };

export const isStarted = (snapshot: Snapshot): snapshot is StartedSnapshot => snapshot.position !== null;
