import assert from 'node:assert';
import type { TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { RawBatch } from '../../../shared/kafka/record-batch.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';

/** Where a partition starts to read, as it was checked. */
export type ReadFrom = {
  offset: number;
  /** The leader epoch of the record batch before the offset; -1 if it is unknown. */
  leaderEpoch: number;
  /** The epoch of the leader whose log was compared with the applied records. */
  comparedEpoch: number;
  /** The end of the log. */
  end: number;
  topicId: string | null;
};

/** The records that were fetched from the next offset on. */
export type Received = {
  /** The batches that have records. */
  batches: RawBatch[];
  /** The offset after all that was fetched with them. */
  nextOffset: number;
  /** The leader epoch of the last batch; -1 if it is unknown. */
  leaderEpoch: number;
  /** The end of the log, as its broker saw it. */
  end: number;
};

/**
 * How far a partition was fetched, and from which log.
 *
 *   start                              start-offsets.ts has found the offset, and compared the log
 *   receive, recordSuccess             handle-batch.ts has queued records
 *   recordError, recordThrottling      the broker has delivered none: shown as the cause why records wait
 *   awaitComparison → setCompared      a new leader: gap-detector.ts compares its log before records are queued
 */
export class FetchState {
  readonly #place: TopicPartition;
  readonly #logger: Logger;
  #nextOffset: number | null = null;
  #leaderEpoch = -1;
  #comparedEpoch = -1;
  #awaitedEpoch = -1;
  #topicId: string | null = null;
  #end = 0;
  #error: string | null = null;
  #throttledMs = 0;
  #isHeld = false;

  constructor({ topic, partition }: TopicPartition, logger: Logger) {
    this.#place = { topic, partition };
    this.#logger = logger;
  }

  /** Offset of the next record to fetch; null until the start offset is found. */
  get nextOffset(): number | null {
    return this.#nextOffset;
  }

  /** The leader epoch of the record batch before that offset; -1 if it is unknown. */
  get leaderEpoch(): number {
    return this.#leaderEpoch;
  }

  /**
   * The epoch of the leader whose log was last compared with all that was fetched. The worker takes a batch of a later
   * epoch only after a comparison with the log of its leader, which may have lost records.
   */
  get comparedEpoch(): number {
    return this.#comparedEpoch;
  }

  /** The epoch of the last batch that was put back to wait for a comparison with its leader's log; -1 without one. */
  get awaitedEpoch(): number {
    return this.#awaitedEpoch;
  }

  /** Whether a batch was put back, and its leader's log has not been compared since. */
  get isComparing(): boolean {
    return this.#awaitedEpoch > this.#comparedEpoch;
  }

  /** The id of the topic when the start offset was found; null before that, and if the brokers have no topic ids. */
  get topicId(): string | null {
    return this.#topicId;
  }

  /** The end offset of the log, as last seen. */
  get end(): number {
    return this.#end;
  }

  /** Whether the broker could not read the partition at the last fetch. */
  get hasFailed(): boolean {
    return this.#error !== null;
  }

  /** How long a quota made this client wait at the last fetch from the broker, in milliseconds; 0 without a quota. */
  get throttledMs(): number {
    return this.#throttledMs;
  }

  /** Whether it is not fetched because the queues are full, so it does not wait for its broker. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  start({ offset, leaderEpoch, comparedEpoch, end, topicId }: ReadFrom): void {
    assert(this.#nextOffset === null, 'a partition is started once');
    assert(offset <= end, 'a partition starts within its log');
    this.#nextOffset = offset;
    this.#leaderEpoch = leaderEpoch;
    this.#comparedEpoch = comparedEpoch;
    this.#topicId = topicId;
    this.#end = end;
  }

  receive({ nextOffset, leaderEpoch, end }: Received): void {
    assert(this.#nextOffset !== null, 'a partition is fetched once it is started');
    assert(nextOffset >= this.#nextOffset, 'the next offset to fetch never falls');
    this.#nextOffset = nextOffset;
    this.#leaderEpoch = Math.max(this.#leaderEpoch, leaderEpoch);
    // The broker may have read the end before the last of the records came.
    this.#end = Math.max(this.#end, end, nextOffset);
  }

  /** The broker cannot read the partition at the next offset. Each new error is logged once. */
  recordError(error: string): void {
    if (error !== this.#error)
      this.#logger.error({ ...this.#place, error }, 'a broker cannot read a partition');
    this.#error = error;
  }

  /** The broker delivers nothing, because a quota throttles this client. */
  recordThrottling(ms: number): void {
    this.#throttledMs = ms;
  }

  /** The broker can read the partition, and delivers. */
  recordSuccess(): void {
    this.#error = null;
    this.#throttledMs = 0;
  }

  /** A batch of this epoch waits for the comparison with the log of its leader. */
  awaitComparison(leaderEpoch: number): void {
    this.#awaitedEpoch = leaderEpoch;
  }

  /** The log of the leader with this epoch contains everything that was fetched. */
  setCompared(leaderEpoch: number): void {
    this.#comparedEpoch = leaderEpoch;
  }

  /** Sets the id of the topic before the first record is read. Later, the records of the former topic would be lost. */
  setTopicId(topicId: string): void {
    assert(!this.#nextOffset, 'the id of a topic may change only before its first record is read');
    this.#topicId = topicId;
  }

  /** The queues are full, or no longer. */
  holdBack(isHeld: boolean): void {
    this.#isHeld = isHeld;
  }
}
