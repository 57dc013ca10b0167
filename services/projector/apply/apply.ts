import { setTimeout as sleep } from 'node:timers/promises';
import type { Applied, Apply, Attempt, TakenChunk } from '../hand-over.ts';
import type { Metrics } from '../metrics.ts';
import { applyChanges, finish, type FinishDeps, parseChunkOf } from './phases.ts';
import { observeStages, timeStore } from './stages.ts';

export type Applier = {
  apply: Apply;
  /** Sets whether one group at a time is applied, which leaves MongoDB and the cores to readers. */
  applyOneAtATime: (isOn: boolean) => void;
};

/** A chunk that waits to be applied, and the promise of its effect. */
type Waiting = Pick<PromiseWithResolvers<Applied>, 'resolve' | 'reject'> & {
  chunk: TakenChunk;
  attempt: Attempt;
};

type ApplierMetrics = Pick<Metrics, 'batchSeconds' | 'batchRecords' | 'stageSeconds'>;

/** A chunk of this many records fills its commands, and is applied at once, beside others. */
const largeMin = 300;
/** A group takes no further chunk once it has this many records. */
const groupRecords = 1_000;
/** The pause after a group, in milliseconds: its partitions hand over their next chunks for the next group. */
const gatherMs = 10;

/** Applies chunks: a small one in a group with others that wait, so that they share their commands. */
export function createApplier(deps: FinishDeps, metrics: ApplierMetrics): Applier {
  const waiting: Waiting[] = [];
  let isOneAtATime = false;
  let isApplyingGroups = false;
  const takeGroup = (): Waiting[] => {
    const group: Waiting[] = [];
    for (let records = 0; records < groupRecords;) {
      const one = waiting.shift();
      if (!one) break;
      const { stopping, onQueued } = one.attempt;
      onQueued?.(false);
      if (stopping?.aborted) one.reject(stopping.reason);
      else group.push(one);
      records += one.chunk.records.length;
    }
    return group;
  };
  const applyGroup = async (group: Waiting[]): Promise<void> => {
    if (group.length === 0) return;
    try {
      const finished = await applyTwoPhases(deps, metrics, group);
      if (isOneAtATime) await Promise.allSettled(finished);
    } catch (error) {
      if (group.length === 1) return group[0]?.reject(error);
      // One chunk may be the cause. Applied by itself, it fails again and its partition retries; the other chunks
      // succeed.
      for (const one of group) {
        const ended = applyGroup([one]);
        if (isOneAtATime) await ended;
      }
    }
  };
  const applyGroups = async (): Promise<void> => {
    isApplyingGroups = true;
    while (waiting.length > 0) {
      await applyGroup(takeGroup());
      // Without the pause, the partitions of this group would miss the next one, and wait for two.
      if (!isOneAtATime) await sleep(gatherMs);
    }
    isApplyingGroups = false;
  };
  return {
    apply: (chunk, attempt) => {
      const { promise, resolve, reject } = Promise.withResolvers<Applied>();
      const one = { chunk, attempt, resolve, reject };
      if (!isOneAtATime && chunk.records.length >= largeMin) void applyGroup([one]);
      else {
        attempt.onQueued?.(isOneAtATime);
        waiting.push(one);
        if (!isApplyingGroups) void applyGroups();
      }
      return promise;
    },
    applyOneAtATime: (isOn) => {
      isOneAtATime = isOn;
      for (const { attempt } of waiting) attempt.onQueued?.(isOn);
    },
  };
}

/** Returns once the first phase is over: the effect of each chunk, which its second phase brings. */
async function applyTwoPhases(
  deps: FinishDeps,
  { batchSeconds, batchRecords, stageSeconds }: ApplierMetrics,
  group: Waiting[],
): Promise<Promise<Applied>[]> {
  const endTimer = batchSeconds.startTimer();
  const begunMs = performance.now();
  const { store, end } = timeStore(deps.store);
  const parsed = group.map(({ chunk, attempt, resolve }) => ({
    ...parseChunkOf(deps.prefix, chunk, attempt),
    arrival: chunk.arrival,
    resolve,
  }));
  const outcome = await applyChanges({ ...deps, store }, parsed);
  const firstPhase = end();
  return parsed.map((chunk) => {
    const finished = finish(deps, chunk, outcome).then((applied) => {
      endTimer({ topic: chunk.topic });
      observeStages(stageSeconds, chunk, { begunMs, firstPhase, now: deps.now() });
      batchRecords.observe(chunk.records.length);
      return applied;
    });
    chunk.resolve(finished);
    return finished;
  });
}
