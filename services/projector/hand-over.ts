import type { SkippedOffsets } from '../../shared/control/ledger-store.ts';
import type { Rejection } from '../../shared/control/rejections.ts';
import type { KafkaRecord } from '../../shared/kafka/record-format.ts';

/*
 * The contract between reading and applying. A partition reads records, and calls `Apply` for each chunk of them, one
 * after the other. `apply/` is the one implementation of `Apply`.
 */

/** Records of one partition to apply together, in the order of the log. */
export type Chunk = {
  topic: string;
  records: KafkaRecord[];
  /** The records among them that an operator skips. A partition reads them once an attempt has failed. */
  skipped?: SkippedOffsets;
};

/** When the first record of a chunk reached each step, in milliseconds of the monotonic clock of this process. */
export type Arrival = {
  /** Its batch was fetched. */
  fetchedMs: number;
  /** The former chunk of its partition was applied. This chunk may have been fetched only after that. */
  nextMs: number;
  /** It was taken from the queue. */
  takenMs: number;
};

/** A chunk as its partition has taken it from its queue. */
export type TakenChunk = Chunk & { arrival: Arrival };

/** One attempt of a partition to apply a chunk: two signals that end it, and the reports to the partition. */
export type Attempt = {
  /** Aborted when the partition is lost, or the process stops. */
  signal: AbortSignal;
  /** Aborted earlier than `signal`, when the partition stops. A chunk that still waits is then rejected. */
  stopping?: AbortSignal;
  /**
   * Called after each durable part of the work: a partition without progress counts as stuck. `isSaved`: a later
   * attempt begins after this part.
   */
  onProgress: (isSaved?: boolean) => void;
  /**
   * Called with whether the chunk waits because groups are applied one at a time: when it begins to wait, when that
   * setting changes, and with false when the wait ends.
   */
  onOneAtATimeWait?: (isWaiting: boolean) => void;
  /** Called with the number of documents that a fan-out has still to refresh. */
  onFanOut?: (documents: number) => void;
  /** Called while the same documents are written again and again, until the next progress. */
  onConflicting?: () => void;
};

/** The durable effect of a chunk. */
export type AppliedChunk = {
  /** The number of events that were applied, duplicates and old ones among them. */
  events: number;
  /** The reason of each record that became a dead letter. */
  rejected: Rejection['reason'][];
  /** The times of the events that repeat no earlier record of the log, in milliseconds. */
  times: number[];
};

/** Applies a chunk. If it resolves, the partition moves its position. If it rejects, the partition calls it again. */
export type Apply = (chunk: TakenChunk, attempt: Attempt) => Promise<AppliedChunk>;
