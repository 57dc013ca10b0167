import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { LogLimit } from '../../../shared/runtime/log-limit.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { isTransient } from '../../../shared/kafka/transient-errors.ts';
import { retryPauseMs } from '../../../shared/store/transient-errors.ts';
import type { HoldCause } from '../../../shared/control/hold-causes.ts';
import type { SetAsideOffsets } from '../../../shared/control/set-aside.ts';
import type { TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { Applied, Apply, Chunk, Watch } from '../hand-over.ts';
import type { RecordQueue } from './record-queue.ts';
import type { WaitForTurn } from './wait-for-turn.ts';

/** Thrown when work is aborted because the partition is no longer assigned to this process. */
class Revoked extends Error {
  override name = 'Revoked';
}

/** The worker of one assigned partition: it applies the fetched batches of its queue in order. */
export type PartitionWorker = {
  topic: string;
  partition: number;
  /** Offset of the next record to apply; null until the worker is started. */
  position: number | null;
  /** The leader epoch of the record batch before the position; -1 if it is unknown. */
  leaderEpoch: number;
  /** Offset of the next record to fetch; null until the worker is started. */
  nextFetchOffset: number | null;
  /** The leader epoch of the record batch before that offset; -1 if it is unknown. */
  fetchedEpoch: number;
  /**
   * The epoch of the leader whose log was last compared with all that was fetched. A batch of a later epoch is not taken
   * before the log of its leader was compared, too: that leader may have lost records.
   */
  comparedEpoch: number;
  /** The offset that was last committed; -1 to commit the position even if it has not moved. */
  committed: number;
  /** The error of the last fetch, if its broker could not read the partition. */
  fetchError: string | null;
  /** Counts progress within a batch, and the waits for servers and for prerequisite topics. */
  progressCount: number;
  /** Why its records wait, unless a fan-out, its log or its broker is the cause. */
  delay: HoldCause;
  /** The documents that a fan-out in progress has still to refresh, as far as known. */
  fanOutWaiting: number;
  /** The end offset of the partition's log, as last seen. */
  end: number;
  /** The id of the topic when the start offset was found; null before that, and if the brokers have no topic ids. */
  topicId: string | null;
  /** The size of the queued batches, compressed. */
  queuedBytes: () => number;
  push: RecordQueue['push'];
  /** Sets the start, which has been checked. Nothing is fetched before. */
  start: (offset: number, leaderEpoch?: number) => void;
  /**
   * Stops the worker; resolves when nothing runs any more. The batch in progress has `graceMs` to finish. Then its
   * signal aborts, and the next owner of the partition applies the batch again.
   */
  stop: (graceMs: number) => Promise<void>;
};

export type PartitionWorkerDeps = {
  topic: string;
  partition: number;
  queue: RecordQueue;
  apply: Apply;
  waitForTurn: WaitForTurn;
  /** Reads which records of the partition an operator has set aside. Called before each attempt but the first. */
  readSetAside: (place: TopicPartition) => Promise<SetAsideOffsets>;
  onApplied: (worker: PartitionWorker, applied: Applied) => void;
  logger: Logger;
  /** Limits the lines about refusals of the servers, of all workers together. */
  limitRefusals: LogLimit;
  /** The pause before a failed batch is retried, in milliseconds. It grows with each attempt, up to ten seconds. */
  retryDelayMs: number;
};

/** `stopping`: start no further batch. `revoked`: abort the batch in progress. */
type Signals = { stopping: AbortSignal; revoked: AbortSignal };

/** After this long, a batch that is applied in parts gives its memory back, so that no other partition waits for it. */
const parkAfterMs = 1_000;

/** A worker before its start. */
const notStarted = {
  position: null,
  leaderEpoch: -1,
  nextFetchOffset: null,
  fetchedEpoch: -1,
  comparedEpoch: -1,
  committed: -1,
  fetchError: null,
  progressCount: 0,
  delay: 'backlog',
  fanOutWaiting: 0,
  end: 0,
  topicId: null,
} as const;

export function createPartitionWorker(deps: PartitionWorkerDeps): PartitionWorker {
  const { queue } = deps;
  const [stopping, revoked] = [new AbortController(), new AbortController()];
  const signals: Signals = { stopping: stopping.signal, revoked: revoked.signal };
  let running: Promise<void> | null = null;

  const retry = <T>(attemptOnce: () => Promise<T>) => retrying(deps, self, signals.stopping, attemptOnce);
  const applyQueue = async () => {
    while (!signals.stopping.aborted && !queue.isEmpty()) await applyNext();
  };
  // Not in the loop above, whose variables would keep the records in memory while the next ones are taken.
  const applyNext = async () => {
    await waitForTurn(deps, self, signals);
    if (signals.stopping.aborted) return;
    const { records, nextOffset, leaderEpoch } = await retry(() => queue.take(self.position ?? 0));
    if (signals.stopping.aborted) return;
    const parkTimer = setTimeout(queue.park, parkAfterMs);
    const apply = attempt(deps, self, signals, records);
    const applied = await retry(apply).finally(() => {
      clearTimeout(parkTimer);
      queue.release();
    });
    self.position = nextOffset;
    self.leaderEpoch = Math.max(self.leaderEpoch, leaderEpoch);
    deps.onApplied(self, applied);
  };
  const wake = () => {
    if (signals.stopping.aborted || running || queue.isEmpty()) return;
    running = applyQueue().catch(ignoreRevoked);
    void running.finally(() => {
      running = null;
      wake();
    });
  };

  const self: PartitionWorker = {
    topic: deps.topic,
    partition: deps.partition,
    ...notStarted,
    queuedBytes: queue.bytes,
    push: (...fetched) => {
      queue.push(...fetched);
      wake();
    },
    start: (offset, leaderEpoch = -1) => {
      self.position = offset;
      self.nextFetchOffset = offset;
      self.leaderEpoch = leaderEpoch;
      self.fetchedEpoch = leaderEpoch;
    },
    stop: async (graceMs) => {
      stopping.abort();
      queue.close();
      const reason = new Revoked(`${deps.topic}/${deps.partition} is no longer assigned`);
      const graceTimer = setTimeout(() => revoked.abort(reason), graceMs);
      await running;
      clearTimeout(graceTimer);
    },
  };
  return self;
}

/** A batch may hold control records alone, such as the end of a transaction. */
const nothing: Applied = { events: 0, rejected: [], times: [] };

const ignoreRevoked = (error: unknown) => {
  if (!(error instanceof Revoked)) throw error;
};

/**
 * Counts each wait as progress: a worker that waits for its turn is not stuck. While it waits, it gives its memory back, so
 * that no other partition waits for it.
 */
async function waitForTurn(deps: PartitionWorkerDeps, self: PartitionWorker, { stopping }: Signals) {
  const end = () => Math.max(self.end, self.nextFetchOffset ?? 0);
  const turn = { topic: deps.topic, position: self.position ?? 0, end };
  await deps.waitForTurn(turn, stopping, () => {
    self.delay = 'prerequisites';
    deps.queue.park();
    self.progressCount += 1;
  });
  self.delay = 'backlog';
}

/**
 * Repeats work until it succeeds or the worker stops. A pause between two attempts takes ten seconds at most, and longer
 * only while MongoDB is overloaded.
 */
async function retrying<T>(
  { topic, partition, logger, limitRefusals, retryDelayMs }: PartitionWorkerDeps,
  self: PartitionWorker,
  stopping: AbortSignal,
  attemptOnce: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1)
    try {
      stopping.throwIfAborted();
      const done = await attemptOnce();
      self.delay = 'backlog';
      return done;
    } catch (error) {
      self.delay = 'failing';
      self.fanOutWaiting = 0;
      if (error instanceof Revoked || stopping.aborted)
        throw new Revoked(`${topic}/${partition} is given up`);
      const { position } = self;
      const write = (more: object) =>
        logger.error(
          { error, topic, partition, position, attempt, ...more },
          'could not apply the batch; retrying (no record is skipped)',
        );
      if (isTransient(error)) {
        self.progressCount += 1;
        limitRefusals(write);
      } else write({});
      const pauseMs = retryPauseMs(error, attempt, Math.min(retryDelayMs * attempt, 10_000));
      await sleep(pauseMs, undefined, { signal: stopping }).catch(() => undefined);
    }
}

/** Skips nothing. An attempt makes progress only if it gets further than every attempt before it from where it begins. */
function attempt(deps: PartitionWorkerDeps, self: PartitionWorker, signals: Signals, records: KafkaRecord[]) {
  const { stopping, revoked: signal } = signals;
  let furthest = 0;
  let hasFailed = false;
  const onQueued = (isQueued: boolean) => void (self.delay = isQueued ? 'one_at_a_time' : 'backlog');
  const onFanOut = (documents: number) => void (self.fanOutWaiting = documents);
  const onConflicting = () => {
    self.delay = 'conflicting';
  };
  return async (): Promise<Applied> => {
    let done = 0;
    const onProgress: Watch['onProgress'] = (isSaved) => {
      if (self.delay === 'conflicting') self.delay = 'backlog';
      if (isSaved) done = furthest = 0;
      done += 1;
      if (done <= furthest) return;
      furthest = done;
      self.progressCount += 1;
    };
    if (records.length === 0) return nothing;
    const chunk: Chunk = { topic: deps.topic, records };
    if (hasFailed) chunk.setAside = await deps.readSetAside(self);
    hasFailed = true;
    return deps.apply(chunk, { signal, stopping, onProgress, onQueued, onFanOut, onConflicting });
  };
}
