import assert from 'node:assert';
import { setImmediate as nextIteration } from 'node:timers/promises';

/** Loads a value within a budget of memory. The caller releases each value once, when the value is no longer used. */
export type Budget = <T extends { bytes: number }>(
  load: () => Promise<T>,
) => Promise<{ value: T; release: () => void }>;

const ignore = () => undefined;

/** The part of the budget from which a released value is counted as garbage. V8 collects smaller values in time. */
const garbagePartMin = 1 / 4;

/**
 * Loads values of unknown size one after another, in the order of the calls. A value that does not fit waits until
 * callers have released enough other values, so all values take at most the budget and one more value. V8 frees
 * released values late. If they exceed the budget, or after a failed load, the budget calls `collectGarbage`.
 */
export function createBudget(bytesMax: number, collectGarbage: () => void): Budget {
  let usedBytes = 0;
  let garbageBytes = 0;
  let released = () => {};
  let previous: Promise<unknown> = Promise.resolve();
  const oneIsReleased = () => new Promise<void>((resolve) => (released = resolve));
  const loadAndWait = async <T extends { bytes: number }>(load: () => Promise<T>) => {
    while (usedBytes > bytesMax) await oneIsReleased();
    if (garbageBytes > bytesMax) {
      // The worker that has released a value still refers to it in this iteration of the event loop.
      await nextIteration();
      collectGarbage();
      garbageBytes = 0;
    }
    const value = await load().catch((error: unknown) => {
      garbageBytes = Infinity;
      throw error;
    });
    while (usedBytes > 0 && usedBytes + value.bytes > bytesMax) await oneIsReleased();
    usedBytes += value.bytes;
    let isReleased = false;
    const release = () => {
      assert(!isReleased, 'the memory of a value is released once');
      isReleased = true;
      usedBytes -= value.bytes;
      if (value.bytes >= bytesMax * garbagePartMin) garbageBytes += value.bytes;
      released();
    };
    return { value, release };
  };
  return (load) => {
    const loaded = previous.then(() => loadAndWait(load));
    // Without the value, which this promise would keep in memory.
    previous = loaded.then(ignore, ignore);
    return loaded;
  };
}
