import { setTimeout as sleep } from 'node:timers/promises';
import type { AppliedChunk, Apply, Attempt, TakenChunk } from '../hand-over.ts';
import type { Metrics } from '../metrics.ts';
import { applyChanges, finish, type FinishDeps, parseChunkOf, type ParsedChunk } from './phases.ts';
import { observeStages, timeStore } from './stages.ts';

/*
 * How a chunk is applied. A partition calls `apply` for its chunk, and waits for the promise.
 *
 *   a large chunk    is a group of its own, and begins immediately
 *   a small chunk    waits for phase 1 of the group before it, if there is one, then joins the next group
 *   a group          phase 1 of all its chunks together, then phase 2 of each chunk: phases.ts
 *
 * While groups are applied one at a time, large chunks wait as well, and a group ends after phase 2 of all its chunks.
 * If a group fails, each of its chunks is applied again as a separate group. If that fails, its partition retries.
 */

export type Applier = {
  apply: Apply;
  /** Sets whether groups are applied only one at a time, which leaves MongoDB and the cores to readers. */
  setOneAtATime: (isOn: boolean) => void;
};

/** A chunk that waits to be applied, and the functions that settle the promise of its effect. */
type WaitingChunk = Pick<PromiseWithResolvers<AppliedChunk>, 'resolve' | 'reject'> & {
  chunk: TakenChunk;
  attempt: Attempt;
};

type ApplierMetrics = Pick<Metrics, 'batchSeconds' | 'batchRecords' | 'stageSeconds'>;

/** A chunk of at least this number of records gains nothing from a group, so it begins immediately. */
const largeChunkRecords = 300;
/** A group of at least this number of records takes no further chunk. */
const groupRecordsMax = 1_000;
/** The pause after a group, in milliseconds. In this time its partitions hand over chunks for the next group. */
const gatherMs = 10;

/** Applies chunks: a small chunk in a group with others that wait, so that they share their commands. */
export function createApplier(deps: FinishDeps, metrics: ApplierMetrics): Applier {
  const waiting: WaitingChunk[] = [];
  let isOneAtATime = false;
  let isApplyingGroups = false;
  const takeGroup = (): WaitingChunk[] => {
    const group: WaitingChunk[] = [];
    let records = 0;
    while (records < groupRecordsMax) {
      const next = waiting.shift();
      if (!next) break;
      const { stopping, onOneAtATimeWait } = next.attempt;
      onOneAtATimeWait?.(false);
      if (stopping?.aborted) next.reject(stopping.reason);
      else group.push(next);
      records += next.chunk.records.length;
    }
    return group;
  };
  /** Never rejects: each chunk has its own promise, which resolves or rejects. */
  const applyGroup = async (group: WaitingChunk[]): Promise<void> => {
    if (group.length === 0) return;
    try {
      const secondPhases = await applyTwoPhases(deps, metrics, group);
      if (isOneAtATime) await Promise.allSettled(secondPhases);
    } catch (error) {
      if (group.length === 1) return group[0]?.reject(error);
      // One chunk may be the cause. As separate groups, only this chunk fails again, and the others succeed.
      for (const waitingChunk of group) {
        const appliedAgain = applyGroup([waitingChunk]);
        // Otherwise the groups are applied at the same time.
        if (isOneAtATime) await appliedAgain;
      }
    }
  };
  const applyGroups = async (): Promise<void> => {
    isApplyingGroups = true;
    while (waiting.length > 0) {
      await applyGroup(takeGroup());
      // Without the pause, the partitions of this group would just miss the next group, and wait for the one after it.
      if (!isOneAtATime) await sleep(gatherMs);
    }
    isApplyingGroups = false;
  };
  return {
    apply: (chunk, attempt) => {
      const { promise, resolve, reject } = Promise.withResolvers<AppliedChunk>();
      const waitingChunk = { chunk, attempt, resolve, reject };
      if (!isOneAtATime && chunk.records.length >= largeChunkRecords) {
        void applyGroup([waitingChunk]);
        return promise;
      }
      attempt.onOneAtATimeWait?.(isOneAtATime);
      waiting.push(waitingChunk);
      if (!isApplyingGroups) void applyGroups();
      return promise;
    },
    setOneAtATime: (isOn) => {
      isOneAtATime = isOn;
      for (const { attempt } of waiting) attempt.onOneAtATimeWait?.(isOn);
    },
  };
}

/** Applies a group. Resolves after phase 1, to a promise for each chunk that resolves after its phase 2. */
async function applyTwoPhases(
  deps: FinishDeps,
  { batchSeconds, batchRecords, stageSeconds }: ApplierMetrics,
  group: WaitingChunk[],
): Promise<Promise<AppliedChunk>[]> {
  const endTimer = batchSeconds.startTimer();
  const begunMs = performance.now();
  const timed = timeStore(deps.store);
  const parsed = group.map(({ chunk, attempt, resolve }) => ({
    ...parseChunkOf(deps.prefix, chunk, attempt),
    arrival: chunk.arrival,
    resolve,
  }));
  const outcome = await applyChanges({ ...deps, store: timed.store }, parsed);
  const firstPhase = timed.end();
  const applySecondPhase = async (chunk: ParsedChunk & Pick<TakenChunk, 'arrival'>) => {
    const applied = await finish(deps, chunk, outcome);
    endTimer({ topic: chunk.topic });
    observeStages(stageSeconds, chunk, { begunMs, firstPhase, now: deps.now() });
    batchRecords.observe(chunk.records.length);
    return applied;
  };
  return parsed.map((chunk) => {
    const applied = applySecondPhase(chunk);
    chunk.resolve(applied);
    return applied;
  });
}
