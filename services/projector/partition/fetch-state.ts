import assert from 'node:assert';
import type { TopicPartition } from '../../../shared/control/topic-partition.ts';
import { type RawBatch, unknownEpoch } from '../../../shared/kafka/record-batch.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';

/** The start of a partition, after its log has been compared. */
export type FetchStart = {
  /** The offset of the first record to fetch. */
  offset: number;
  /** The leader epoch of the last record batch before the offset, or `unknownEpoch`. */
  leaderEpoch: number;
  /** The epoch of the leader whose log was compared, or `unknownEpoch`. */
  comparedEpoch: number;
  /** The end of the log. */
  endOffset: number;
  /** The id of the topic; null if the brokers have no topic ids. */
  topicId: string | null;
};

/** The result of one fetch from the next offset on. */
export type FetchResult = {
  /** The batches that have records. */
  batches: RawBatch[];
  /** The offset to fetch after this result. Fetched batches without records come before it. */
  nextOffset: number;
  /** The latest leader epoch that the fetch has found, or `unknownEpoch`. */
  leaderEpoch: number;
  /** The end of the log at the time of the fetch. */
  endOffset: number;
};

/**
 * The progress of the fetches of one partition, and the identity of the log that they read.
 *
 *   start                               start-offsets.ts has found the offset, and compared the log
 *   onFetchSucceeded                    the broker can deliver again
 *   receive                             handle-batch.ts queues the fetched records
 *   onFetchFailed, onFetchThrottled     the broker delivered no records; `status` shows this as the reason
 *   setUncomparedEpoch                  a new leader: its records wait until gap-detector.ts has compared its log
 *   setComparedEpoch                    the log of the leader has everything that was fetched
 */
export class FetchState {
  readonly #place: TopicPartition;
  readonly #logger: Logger;
  #nextOffset: number | null = null;
  #leaderEpoch = unknownEpoch;
  #comparedEpoch = unknownEpoch;
  #uncomparedEpoch = unknownEpoch;
  #topicId: string | null = null;
  #endOffset = 0;
  #error: string | null = null;
  #throttledMs = 0;
  #isTopicFull = false;

  constructor({ topic, partition }: TopicPartition, logger: Logger) {
    this.#place = { topic, partition };
    this.#logger = logger;
  }

  /** The offset of the next record to fetch; null until the start offset is found. */
  get nextOffset(): number | null {
    return this.#nextOffset;
  }

  /** The leader epoch of the last record batch before the next offset, or `unknownEpoch`. */
  get leaderEpoch(): number {
    return this.#leaderEpoch;
  }

  /**
   * The epoch of the leader whose log was last compared with the records before the next offset. A batch of a later
   * epoch is queued only after a comparison with the log of its leader, which may have lost records.
   */
  get comparedEpoch(): number {
    return this.#comparedEpoch;
  }

  /** The epoch of the last batch that was not queued because its leader's log was not compared, or `unknownEpoch`. */
  get uncomparedEpoch(): number {
    return this.#uncomparedEpoch;
  }

  /** Whether a batch waits for the comparison with its leader's log. */
  get isComparing(): boolean {
    return this.#uncomparedEpoch > this.#comparedEpoch;
  }

  /** The id of the topic when the start offset was found; null before that, and if the brokers have no topic ids. */
  get topicId(): string | null {
    return this.#topicId;
  }

  /** The highest end offset of the log that is known. It is never below the next offset. */
  get endOffset(): number {
    return this.#endOffset;
  }

  /** Whether the broker could not read the partition at the last fetch. */
  get hasFailed(): boolean {
    return this.#error !== null;
  }

  /** How long a quota made this client wait at the last fetch from the broker, in milliseconds; 0 without a quota. */
  get throttledMs(): number {
    return this.#throttledMs;
  }

  start({ offset, leaderEpoch, comparedEpoch, endOffset, topicId }: FetchStart): void {
    assert(this.#nextOffset === null, 'a partition is started once');
    assert(offset <= endOffset, 'a partition starts within its log');
    this.#nextOffset = offset;
    this.#leaderEpoch = leaderEpoch;
    this.#comparedEpoch = comparedEpoch;
    this.#topicId = topicId;
    this.#endOffset = endOffset;
  }

  receive({ nextOffset, leaderEpoch, endOffset }: FetchResult): void {
    assert(this.#nextOffset !== null, 'a partition is fetched once it is started');
    assert(nextOffset >= this.#nextOffset, 'the next offset to fetch never falls');
    this.#nextOffset = nextOffset;
    this.#leaderEpoch = Math.max(this.#leaderEpoch, leaderEpoch);
    // The broker may have determined the end of the log before a producer appended the last of these records.
    this.#endOffset = Math.max(this.#endOffset, endOffset, nextOffset);
  }

  /** The broker could not read the partition at the next offset. Logs a repeated error only once. */
  onFetchFailed(error: string): void {
    if (error !== this.#error)
      this.#logger.error({ ...this.#place, error }, 'a broker cannot read a partition');
    this.#error = error;
  }

  /** The broker delivered nothing, because a quota throttles this client. */
  onFetchThrottled(ms: number): void {
    this.#throttledMs = ms;
  }

  /** The broker has read the partition and delivered its records. */
  onFetchSucceeded(): void {
    this.#error = null;
    this.#throttledMs = 0;
  }

  /** Sets the epoch of a batch that waits until the log of its leader is compared. */
  setUncomparedEpoch(leaderEpoch: number): void {
    this.#uncomparedEpoch = leaderEpoch;
  }

  /** Sets the epoch of a leader whose log contains everything that was fetched. */
  setComparedEpoch(leaderEpoch: number): void {
    this.#comparedEpoch = leaderEpoch;
  }

  /**
   * Sets the id of a topic that was created again before this process read its first record. Later, the gap detector
   * would take the records that were read of the former topic for records of the new one, and miss the gap.
   */
  setTopicId(topicId: string): void {
    const hasRead = this.#nextOffset !== null && this.#nextOffset > 0;
    assert(!hasRead, 'the id of a topic may change only before its first record is read');
    this.#topicId = topicId;
  }

  /** Sets whether the queues of the topic are full. fetch-control.ts calls this before each decision to fetch. */
  setTopicFull(isFull: boolean): void {
    this.#isTopicFull = isFull;
  }

  /**
   * Whether the next record comes before `loadEnd` and may be fetched. If not, the broker is not the reason why the
   * partition has no records.
   */
  isFetchable(loadEnd: number): boolean {
    return !this.#isTopicFull && this.#nextOffset !== null && this.#nextOffset < loadEnd;
  }
}
