import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Applied } from '../apply.ts';
import type { BusRecord } from '../events/change.ts';
import { isAway } from './away.ts';
import { pieces, takeStep, type Fetched } from './steps.ts';

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
  /** Counts the checkpoints that its steps have passed, and their attempts that met a store or brokers away. */
  touches: number;
  /** What is queued or being applied. */
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
  apply: (records: BusRecord[], checkpoint: () => void) => Promise<Applied>;
  onApplied: (self: Partition, applied: Applied) => void;
  logger: Logger;
  /** Pause before a failed step is tried again, in milliseconds; grows with the attempts, to ten seconds. */
  retryDelayMs: number;
};

type State = { stopping: boolean; broken: boolean };

export function createPartition(deps: PartitionDeps): Partition {
  const queue: Fetched[] = [];
  const state: State = { stopping: false, broken: false };
  let work: Promise<void> | null = null;
  let bytesInHand = 0;

  const run = async () => {
    while (!state.stopping && queue.length > 0) {
      const step = takeStep(queue);
      if (step.records.length > 0) {
        bytesInHand = step.bytes;
        const applied = await applyUntilDone(deps, self, state, step.records);
        bytesInHand = 0;
        self.appliedToMs = later(self.appliedToMs, applied.appliedToMs);
        self.position = step.nextOffset;
        deps.onApplied(self, applied);
      }
      self.position = step.nextOffset;
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
    touches: 0,
    queuedBytes: () => queue.reduce((sum, { bytes }) => sum + bytes, bytesInHand),
    push: (fetched) => {
      if (state.stopping) return;
      queue.push(...pieces(fetched));
      wake();
    },
    start: (position) => {
      self.position = self.expected = position;
    },
    stop: async (graceMs) => {
      state.stopping = true;
      queue.length = 0;
      const late = setTimeout(() => (state.broken = true), graceMs);
      await work;
      clearTimeout(late);
    },
  };
  return self;
}

const later = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.max(a, b));

/** Nothing is ever skipped: a step that fails is tried until it is done, or is no longer ours to do. */
async function applyUntilDone(
  deps: PartitionDeps,
  self: Partition,
  state: State,
  records: BusRecord[],
): Promise<Applied> {
  const { topic, partition, logger, retryDelayMs } = deps;
  const throwIfBroken = () => {
    if (state.broken) throw new Revoked(`${topic}/${partition} is no longer assigned`);
  };
  const checkpoint = () => {
    throwIfBroken();
    self.touches += 1;
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      throwIfBroken();
      return await deps.apply(records, checkpoint);
    } catch (error) {
      if (error instanceof Revoked || state.stopping) throw new Revoked(`${topic}/${partition} is given up`);
      if (isAway(error)) self.touches += 1;
      logger.error({ error, topic, partition, attempt }, 'could not apply; nothing is skipped, trying again');
      await new Promise((resolve) => setTimeout(resolve, Math.min(retryDelayMs * attempt, 10_000)));
    }
  }
}
