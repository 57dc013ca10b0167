import assert, { AssertionError } from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import type { HoldCause } from '../../../shared/control/hold-causes.ts';
import type { SkippedOffsets } from '../../../shared/control/ledger-store.ts';
import type { TopicPartition } from '../../../shared/control/topic-partition.ts';
import { isTransient } from '../../../shared/kafka/errors.ts';
import type { LogOffsets } from '../../../shared/kafka/log-client.ts';
import { unknownEpoch } from '../../../shared/kafka/record-batch.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import type { LogLimit } from '../../../shared/runtime/log-limit.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { retry } from '../../../shared/store/retry.ts';
import type { AppliedChunk, Apply, Arrival, Attempt, TakenChunk } from '../hand-over.ts';
import { type FetchResult, type FetchStart, FetchState } from './fetch-state.ts';
import { applying, causeOf, isQueued, mayBecome, type PartitionState } from './partition-state.ts';
import { createProgressCounter } from './progress-counter.ts';
import type { RecordQueue, TakenRecords } from './record-queue.ts';
import type { Snapshot } from './snapshot.ts';
import type { WaitForPrerequisites } from './wait-for-prerequisites.ts';

/** Thrown when work is aborted because the partition is no longer assigned to this process. */
class Revoked extends Error {
  override name = 'Revoked';
}

export type PartitionDeps = TopicPartition & {
  queue: RecordQueue;
  apply: Apply;
  waitForPrerequisites: WaitForPrerequisites;
  /** Reads which records of the partition an operator skips. Called before each attempt after the first. */
  readSkips: (place: TopicPartition) => Promise<SkippedOffsets>;
  /** Called after each chunk that was applied, once the position has moved. */
  onApplied: (partition: Partition, applied: AppliedChunk) => void;
  /** An invariant is violated. The partition has stopped; the process must exit with an error. */
  onFatal: (error: Error) => void;
  logger: Logger;
  /** Limits the log lines about refusals of the servers. All partitions share the limit. */
  limitRefusals: LogLimit;
  /** The first pause before a failed chunk is retried, in milliseconds. Each later pause is longer by this time. */
  retryDelayMs: number;
};

/** After this time, a batch that is applied in parts gives its memory back to the other partitions, in milliseconds. */
const releaseBatchAfterMs = 1_000;

/** The longest pause before a failed chunk is retried, in milliseconds, unless MongoDB is overloaded. */
const retryPauseMaxMs = 10_000;

/** The effect of a chunk that has only control records, such as the end of a transaction. */
const nothingApplied: AppliedChunk = { events: 0, rejected: [], times: [] };

/**
 * One assigned partition, which applies its fetched records in the order of the log. Only the partition changes its
 * state. Other modules read the state and report events. partition-state.ts draws the states.
 *
 *   start            its start offset is found: batches may be fetched
 *   receive          queues batches, and starts `#applyQueue` unless it runs. Each chunk takes these steps:
 *                      #waitForPrerequisites  →  #retry(take)  →  #apply, which retries  →  #advance  →  onApplied
 *   stop             begins no chunk; the one in progress has a grace, then its signal aborts
 *   #onLoopFailed    an invariant does not hold: stops, and the process ends
 */
export class Partition {
  readonly topic: string;
  readonly partition: number;
  /** The progress of its fetches. */
  readonly fetchState: FetchState;
  readonly #deps: PartitionDeps;
  readonly #stopping = new AbortController();
  readonly #revoked = new AbortController();
  #state: PartitionState = { name: 'finding-start' };
  #running: Promise<void> | null = null;
  #position: number | null = null;
  #leaderEpoch = unknownEpoch;
  #committed: number | null = null;
  #progressCount = 0;
  #fanOutWaiting = 0;

  constructor(deps: PartitionDeps) {
    this.topic = deps.topic;
    this.partition = deps.partition;
    this.fetchState = new FetchState(deps, deps.logger);
    this.#deps = deps;
  }

  /** The offset of the next record to apply; null until the partition is started. */
  get position(): number | null {
    return this.#position;
  }

  /** The offset that was last committed; null to commit the position even if it has not moved. */
  get committed(): number | null {
    return this.#committed;
  }

  /** The size of its batches in memory, compressed. */
  queuedBytes(): number {
    return this.#deps.queue.bytes();
  }

  /**
   * Returns how far the partition is applied, and why its next records wait. The offsets of its `log`, if known, show
   * an open transaction. The consumer does not fetch records from `loadEnd` on.
   */
  snapshot(log?: Pick<LogOffsets, 'end' | 'stable'>, loadEnd = Infinity): Snapshot {
    const cause = this.#holdCause(log, loadEnd);
    const snapshot: Snapshot = {
      topic: this.topic,
      partition: this.partition,
      position: this.#position,
      leaderEpoch: this.#leaderEpoch,
      topicId: this.fetchState.topicId,
      progressCount: this.#progressCount,
      fanOutWaiting: this.#fanOutWaiting,
    };
    if (cause !== null) snapshot.cause = cause;
    const { throttledMs } = this.fetchState;
    if (cause === 'undelivered' && throttledMs > 0) snapshot.throttledMs = throttledMs;
    if (isQueued(this.#state)) snapshot.isQueued = true;
    return snapshot;
  }

  /** Sets the offset at which fetching starts, and the offset that the group has committed; null to commit again. */
  start(start: FetchStart, committed: number | null): void {
    this.fetchState.start(start);
    this.#position = start.offset;
    this.#leaderEpoch = start.leaderEpoch;
    this.#committed = committed;
    this.#setState({ name: 'idle' });
  }

  /** Queues the batches that were fetched from the next offset on. */
  receive(received: FetchResult): void {
    this.fetchState.receive(received);
    this.#deps.queue.push(received.batches, received.nextOffset, this.fetchState.leaderEpoch);
    this.#startApplying();
  }

  /**
   * Called when a broker has answered a fetch. While the queue is empty, only the broker can deliver more, so the
   * partition is not stuck.
   */
  onFetched(): void {
    if (this.#state.name === 'idle') this.countBrokerWait();
  }

  /** Counts a wait for a broker as progress. Such a partition is not stuck, because a restart would not help. */
  countBrokerWait(): void {
    this.#progressCount += 1;
  }

  /** Sets the offset that the group has committed. */
  setCommitted(offset: number): void {
    this.#committed = offset;
  }

  /**
   * Makes the next commit include this partition even if its position has not moved: the group may have another offset.
   */
  commitAgain(): void {
    this.#committed = null;
  }

  /**
   * Stops, and resolves when no chunk is in progress. The chunk in progress has `graceMs` to finish. Then its signal
   * aborts, and the next owner of the partition applies the chunk again.
   */
  async stop(graceMs: number): Promise<void> {
    this.#close();
    const reason = new Revoked(`${this.topic}/${this.partition} is no longer assigned`);
    const graceTimer = setTimeout(() => this.#revoked.abort(reason), graceMs);
    await this.#running;
    clearTimeout(graceTimer);
  }

  #close(): void {
    this.#setState({ name: 'stopped' });
    this.#stopping.abort();
    this.#deps.queue.close();
  }

  /** The only writer of the state. */
  #setState(state: PartitionState): void {
    const former = this.#state;
    if (former.name === 'stopped' || isDeepStrictEqual(former, state)) return;
    assert(mayBecome(former, state), `a partition is not ${state.name} after ${former.name}`);
    this.#state = state;
    const { topic, partition, position } = this;
    this.#deps.logger.debug({ topic, partition, position, before: former, after: state }, 'partition state');
  }

  #holdCause(log: Pick<LogOffsets, 'end' | 'stable'> | undefined, loadEnd: number): HoldCause | null {
    const cause = causeOf(this.#state, this.#fanOutWaiting);
    if (cause === null || this.#position === null) return cause;
    if (log && log.stable < log.end && this.#position >= log.stable) return 'open_transaction';
    if (this.#position !== this.fetchState.nextOffset) return cause;
    // All fetched records are applied.
    if (this.fetchState.hasFailed) return 'unreadable';
    if (this.fetchState.isComparing) return 'new_leader';
    return cause === 'backlog' && this.fetchState.isFetchable(loadEnd) ? 'undelivered' : cause;
  }

  #startApplying(): void {
    if (this.#stopping.signal.aborted || this.#running || this.#deps.queue.isEmpty()) return;
    this.#running = this.#applyQueue().catch((error: unknown) => this.#onLoopFailed(error));
    void this.#running.finally(() => {
      this.#running = null;
      this.#startApplying();
    });
  }

  /** Ends the process if an invariant is violated. The loss of the partition is a normal end. */
  #onLoopFailed(error: unknown): void {
    if (error instanceof Revoked) return;
    this.#close();
    const message = `${this.topic}/${this.partition} cannot go on: ${errorMessage(error)}`;
    this.#deps.onFatal(new Error(message, { cause: error }));
  }

  async #applyQueue(): Promise<void> {
    while (!this.#stopping.signal.aborted && !this.#deps.queue.isEmpty()) await this.#applyNext();
    this.#setState({ name: 'idle' });
  }

  // Separate from the loop of `#applyQueue`. A variable there would keep the records in memory during the next `take`.
  async #applyNext(): Promise<void> {
    const { queue } = this.#deps;
    const position = this.#position;
    assert(position !== null, 'a partition is started before it applies');
    const nextMs = performance.now();
    await this.#waitForPrerequisites(position);
    if (this.#stopping.signal.aborted) return;
    const taken = await this.#retry(() => queue.take(position));
    if (this.#stopping.signal.aborted) return;
    const arrival = { fetchedMs: taken.fetchedMs, nextMs, takenMs: performance.now() };
    const timer = setTimeout(() => queue.releaseBatch(taken), releaseBatchAfterMs);
    const applied = await this.#apply(taken, arrival).finally(() => {
      clearTimeout(timer);
      queue.release(taken);
    });
    this.#advance(taken);
    this.#deps.onApplied(this, applied);
  }

  /**
   * Counts each poll as progress: a partition that waits for prerequisites is not stuck. While it waits, it gives its
   * memory back, so that it delays no other partition.
   */
  async #waitForPrerequisites(position: number): Promise<void> {
    const { queue, waitForPrerequisites } = this.#deps;
    const next = { topic: this.topic, position, end: () => this.fetchState.endOffset };
    await waitForPrerequisites(next, this.#stopping.signal, () => {
      this.#setState({ name: 'waiting', cause: 'prerequisites' });
      queue.releaseBatch();
      this.#progressCount += 1;
    });
    this.#setState(applying);
  }

  /** Applies records, and retries until every record is applied. Only an operator can skip a record. */
  async #apply({ records }: TakenRecords, arrival: Arrival): Promise<AppliedChunk> {
    if (records.length === 0) return nothingApplied;
    const { apply, readSkips } = this.#deps;
    const beginCount = createProgressCounter(() => {
      this.#progressCount += 1;
    });
    let hasFailed = false;
    return this.#retry(async () => {
      const attempt = this.#createAttempt(beginCount());
      const chunk: TakenChunk = { topic: this.topic, records, arrival };
      if (hasFailed) chunk.skipped = await readSkips({ topic: this.topic, partition: this.partition });
      hasFailed = true;
      return apply(chunk, attempt);
    });
  }

  #createAttempt(countPart: Attempt['onProgress']): Attempt {
    return {
      signal: this.#revoked.signal,
      stopping: this.#stopping.signal,
      onProgress: (isSaved) => {
        if (this.#state.name === 'applying') this.#setState(applying);
        countPart(isSaved);
      },
      onOneAtATimeWait: (isWaiting) => {
        // After a failed attempt the state stays `retrying` until an attempt succeeds.
        if (this.#state.name === 'retrying') this.#setState({ name: 'retrying', isQueued: isWaiting });
        else if (isWaiting) this.#setState({ name: 'waiting', cause: 'one_at_a_time' });
        else if (this.#state.name === 'waiting') this.#setState(applying);
      },
      onFanOut: (documents) => {
        this.#fanOutWaiting = documents;
      },
      onConflicting: () => {
        if (this.#state.name === 'applying') this.#setState({ name: 'applying', isConflicting: true });
      },
    };
  }

  #advance({ nextOffset, leaderEpoch }: TakenRecords): void {
    const { nextOffset: fetchedTo } = this.fetchState;
    assert(this.#position !== null && nextOffset >= this.#position, 'the position never falls');
    assert(fetchedTo !== null && nextOffset <= fetchedTo, 'only fetched records are applied');
    this.#position = nextOffset;
    this.#leaderEpoch = Math.max(this.#leaderEpoch, leaderEpoch);
    this.#fanOutWaiting = 0;
  }

  async #retry<T>(attemptOnce: () => Promise<T>): Promise<T> {
    const pauseMs = (attempt: number) => Math.min(this.#deps.retryDelayMs * attempt, retryPauseMaxMs);
    const onFailed = (error: unknown, attempt: number) => this.#onAttemptFailed(error, attempt);
    const result = await retry({ pauseMs, onFailed, signal: this.#stopping.signal }, attemptOnce);
    this.#setState(applying);
    return result;
  }

  /**
   * Throws if no other attempt follows. While MongoDB or the brokers are away, a failure counts as progress. Otherwise
   * liveness would restart the process, which would not help.
   */
  #onAttemptFailed(error: unknown, attempt: number): void {
    const { topic, partition, position } = this;
    this.#setState({ name: 'retrying', isQueued: false });
    this.#fanOutWaiting = 0;
    if (error instanceof Revoked || this.#stopping.signal.aborted)
      throw new Revoked(`${topic}/${partition} is given up`);
    if (error instanceof AssertionError) throw error;
    const logFailure = (leftOut: object) =>
      this.#deps.logger.error(
        { error, topic, partition, position, attempt, ...leftOut },
        'could not apply the chunk; retrying (no record is skipped)',
      );
    if (isTransient(error)) {
      this.#progressCount += 1;
      this.#deps.limitRefusals(logFailure);
    } else logFailure({});
  }
}
