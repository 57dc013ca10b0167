import assert from 'node:assert';
import { setImmediate as nextIteration } from 'node:timers/promises';

/** Loads a value within a budget of memory. The caller releases each value once, when the value is no longer used. */
export type LoadWithinBudget = <T extends { bytes: number }>(
  load: () => Promise<T>,
) => Promise<{ value: T; release: () => void }>;

const ignore = () => undefined;

/** A released value of at least this share of the budget counts as garbage. V8 collects smaller values in time. */
const garbageShareMin = 1 / 4;

/**
 * Loads values of unknown size one after another, in the order of the calls. A loaded value that does not fit waits
 * until callers have released enough other values, so the values in memory take at most the budget, plus one value. V8
 * frees released values late: if they exceed the budget, or a load has failed, the next load calls `collectGarbage`.
 */
export function createBudget(bytesMax: number, collectGarbage: () => void): LoadWithinBudget {
  let usedBytes = 0;
  let garbageBytes = 0;
  let mustCollect = false;
  /** Wakes the load in progress, which alone can wait for a release. */
  let wakeWaiter: () => void = ignore;
  let previousLoad: Promise<unknown> = Promise.resolve();
  const nextRelease = () =>
    new Promise<void>((resolve) => {
      wakeWaiter = resolve;
    });
  const loadAndWait = async <T extends { bytes: number }>(load: () => Promise<T>) => {
    while (usedBytes > bytesMax) await nextRelease();
    if (mustCollect || garbageBytes > bytesMax) {
      // The worker that has released a value still refers to it in this iteration of the event loop.
      await nextIteration();
      collectGarbage();
      garbageBytes = 0;
      mustCollect = false;
    }
    const value = await load().catch((error: unknown) => {
      mustCollect = true;
      throw error;
    });
    while (usedBytes > 0 && usedBytes + value.bytes > bytesMax) await nextRelease();
    usedBytes += value.bytes;
    let isReleased = false;
    const release = () => {
      assert(!isReleased, 'the memory of a value is released once');
      isReleased = true;
      usedBytes -= value.bytes;
      if (value.bytes >= bytesMax * garbageShareMin) garbageBytes += value.bytes;
      wakeWaiter();
    };
    return { value, release };
  };
  return (load) => {
    const loaded = previousLoad.then(() => loadAndWait(load));
    // Drops the value. Otherwise this promise would keep the value in memory until the next load.
    previousLoad = loaded.then(ignore, ignore);
    return loaded;
  };
}
