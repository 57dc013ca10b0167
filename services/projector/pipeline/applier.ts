import { setTimeout as sleep } from 'node:timers/promises';
import type { Applied } from '../hand-over.ts';
import type { RecordBatch } from './apply-records.ts';

/** Applies batches together. Returns a function for each, which completes it. */
type ApplyTogether = (batches: RecordBatch[]) => Promise<(() => Promise<Applied>)[]>;

export type Applier = ReturnType<typeof createApplier>;

type Waiting = Pick<PromiseWithResolvers<Applied>, 'resolve' | 'reject'> & { batch: RecordBatch };

/** A batch of this many records fills its commands, and is applied at once, beside others. */
const largeMin = 300;
/** A set takes no further batch once it has this many records. */
const setRecords = 1_000;
/** The least time between the starts of two sets, in milliseconds: batches gather meanwhile. */
const gatherMs = 50;

export function createApplier(apply: ApplyTogether) {
  const waiting: Waiting[] = [];
  let [isOneAtATime, isRunning] = [false, false];
  const takeSet = (): Waiting[] => {
    const set: Waiting[] = [];
    for (let records = 0; records < setRecords;) {
      const one = waiting.shift();
      if (!one) break;
      const { stopping, onQueued } = one.batch.watch;
      onQueued?.(false);
      if (stopping?.aborted) one.reject(stopping.reason);
      else set.push(one);
      records += one.batch.records.length;
    }
    return set;
  };
  const applySet = async (set: Waiting[]): Promise<void> => {
    if (set.length === 0) return;
    try {
      const completing = await apply(set.map(({ batch }) => batch));
      const applied = completing.map((complete) => complete());
      for (const [index, promise] of applied.entries()) set[index]?.resolve(promise);
      if (isOneAtATime) await Promise.allSettled(applied);
    } catch (error) {
      if (set.length === 1) return set[0]?.reject(error);
      // One batch may be the cause. It fails again by itself, and is retried by its worker; the others are applied.
      for (const one of set) {
        const ended = applySet([one]);
        if (isOneAtATime) await ended;
      }
    }
  };
  const applyWaiting = async () => {
    isRunning = true;
    while (waiting.length > 0) await Promise.all([sleep(gatherMs), applySet(takeSet())]);
    isRunning = false;
  };
  return {
    /** Whether one set of batches at a time is applied, which leaves MongoDB and the cores to readers. */
    set: (changed: boolean): void => {
      isOneAtATime = changed;
      for (const { batch } of waiting) batch.watch.onQueued?.(changed);
    },
    /** Applies a batch: a small one together with others that wait, so that they share their commands. */
    run: (batch: RecordBatch): Promise<Applied> => {
      const { promise, resolve, reject } = Promise.withResolvers<Applied>();
      const one = { batch, resolve, reject };
      if (!isOneAtATime && batch.records.length >= largeMin) void applySet([one]);
      else {
        batch.watch.onQueued?.(isOneAtATime);
        waiting.push(one);
        if (!isRunning) void applyWaiting();
      }
      return promise;
    },
  };
}
