import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Applied, Work } from '../pipeline/apply-records.ts';
import type { KafkaRecord } from '../events/change.ts';
import { isTransient } from '../runtime/transient-errors.ts';
import { splitFetch, takeBatch, type Fetched } from './batches.ts';
import type { PrerequisiteWait } from './prerequisite-topics.ts';

/** Thrown where work is broken off because the partition is no longer ours. */
export class Revoked extends Error {
  override name = 'Revoked';
}

/** What a partition is known by in this process. */
export const keyOf = ({ topic, partition }: { topic: string; partition: number }) => `${topic}/${partition}`;

/** One assigned partition: a queue of what was fetched, and a worker that applies it in order. */
export type Partition = {
  topic: string;
  partition: number;
  /** Offset of the next record to apply; null until it is known. */
  position: number | null;
  /** Offset of the next record to fetch; null until the partition's place is known. */
  expected: number | null;
  /** The latest `appliedToMs` of its steps; null before the first. */
  appliedToMs: number | null;
  /** Counts what its steps get done, and the waits for what is away or has to come first. */
  progressCount: number;
  /** The end of its log when last seen. */
  end: number;
  /** The id of the topic that its place was found in; null before, and where the brokers give none. */
  topicId: string | null;
  /** What is queued or being applied, oldest first. */
  waiting: () => KafkaRecord[];
  /** How much that is. */
  queuedBytes: () => number;
  push: (fetched: Fetched) => void;
  /** Sets the offset to read from, which has been checked. Nothing is fetched before. */
  start: (position: number) => void;
  /**
   * Ends the work; resolves when nothing runs any more. The step under way is given `graceMs` to finish, then
   * it is broken off at its next checkpoint, to be applied again by whoever owns the partition next.
   */
  stop: (graceMs: number) => Promise<void>;
};

export type PartitionDeps = {
  topic: string;
  partition: number;
  apply: (records: KafkaRecord[], work: Work) => Promise<Applied>;
  prerequisites: PrerequisiteWait;
  onApplied: (self: Partition, applied: Applied) => void;
  logger: Logger;
  /** Pause before a failed step is tried again, in milliseconds; grows with the attempts, to ten seconds. */
  retryDelayMs: number;
};

type State = { stopping: boolean; ending: AbortController };

export function createPartition(deps: PartitionDeps): Partition {
  const queue: Fetched[] = [];
  const state: State = { stopping: false, ending: new AbortController() };
  let work: Promise<void> | null = null;
  let inHand: Pick<Fetched, 'records' | 'bytes'> = { records: [], bytes: 0 };

  const run = async () => {
    while (!state.stopping && queue.length > 0) {
      await waitForTurn(deps, self, state);
      if (state.stopping) return;
      const step = takeBatch(queue);
      if (step.records.length > 0) {
        inHand = step;
        const applied = await applyUntilDone(deps, self, state, step.records);
        inHand = { records: [], bytes: 0 };
        self.appliedToMs = later(self.appliedToMs, applied.appliedToMs);
        self.position = step.nextOffset;
        deps.onApplied(self, applied);
      } else self.position = step.nextOffset;
    }
  };
  const wake = () => {
    if (state.stopping || work || queue.length === 0) return;
    work = run().catch((error: unknown) => {
      if (!(error instanceof Revoked)) throw error;
    });
    void work.finally(() => {
      work = null;
      wake();
    });
  };

  const self: Partition = {
    topic: deps.topic,
    partition: deps.partition,
    position: null,
    expected: null,
    appliedToMs: null,
    progressCount: 0,
    end: 0,
    topicId: null,
    waiting: () => [inHand, ...queue].flatMap(({ records }) => records),
    queuedBytes: () => queue.reduce((sum, { bytes }) => sum + bytes, inHand.bytes),
    push: (fetched) => {
      if (state.stopping) return;
      queue.push(...splitFetch(fetched));
      wake();
    },
    start: (position) => {
      self.position = self.expected = position;
    },
    stop: async (graceMs) => {
      state.stopping = true;
      queue.length = 0;
      const revoked = new Revoked(`${deps.topic}/${deps.partition} is no longer assigned`);
      const late = setTimeout(() => state.ending.abort(revoked), graceMs);
      await work;
      clearTimeout(late);
    },
  };
  return self;
}

/** A wait for partitions that go ahead is no standstill. */
function waitForTurn({ topic, prerequisites }: PartitionDeps, self: Partition, state: State): Promise<void> {
  const lag = Math.max(self.end, self.expected ?? 0) - (self.position ?? 0);
  const onWait = () => void (self.progressCount += 1);
  return prerequisites.wait({ topic, lag }, () => !state.stopping, onWait);
}

const later = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.max(a, b));

/** Nothing is ever skipped: a step that fails is tried until it is done, or is no longer ours to do. */
async function applyUntilDone(
  deps: PartitionDeps,
  self: Partition,
  state: State,
  records: KafkaRecord[],
): Promise<Applied> {
  const { topic, partition, logger, retryDelayMs } = deps;
  const { signal } = state.ending;
  // An attempt that gets no further than another before it is no progress.
  let most = 0;
  for (let attempt = 1; ; attempt += 1) {
    let done = 0;
    const onProgress = () => {
      done += 1;
      if (done <= most) return;
      most = done;
      self.progressCount += 1;
    };
    try {
      signal.throwIfAborted();
      return await deps.apply(records, { signal, onProgress });
    } catch (error) {
      if (error instanceof Revoked || state.stopping) throw new Revoked(`${topic}/${partition} is given up`);
      if (isTransient(error)) self.progressCount += 1;
      logger.error({ error, topic, partition, attempt }, 'could not apply; nothing is skipped, trying again');
      await new Promise((resolve) => setTimeout(resolve, Math.min(retryDelayMs * attempt, 10_000)));
    }
  }
}
