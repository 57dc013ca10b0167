/** Gives the memory of a loaded value back. It may be called more than once. */
export type Release = () => void;

/** Loads a value that takes memory, once there is room for it. The caller releases it when it is no longer used. */
export type Budget = <T extends { bytes: number }>(
  load: () => Promise<T>,
) => Promise<{ value: T; release: Release }>;

/**
 * A budget of bytes, in which values of unknown size are loaded one after another, in the order of the calls. One that
 * does not fit waits until enough others are released; one that is larger than the budget waits until it is alone. So the
 * memory is bounded by the budget and one value more.
 */
export function createBudget(bytesMax: number): Budget {
  let usedBytes = 0;
  let released = () => {};
  let previous: Promise<unknown> = Promise.resolve();
  const loadAndWait = async <T extends { bytes: number }>(load: () => Promise<T>) => {
    const value = await load();
    while (usedBytes > 0 && usedBytes + value.bytes > bytesMax)
      await new Promise<void>((resolve) => (released = resolve));
    usedBytes += value.bytes;
    let isHeld = true;
    const release = () => {
      if (isHeld) usedBytes -= value.bytes;
      isHeld = false;
      released();
    };
    return { value, release };
  };
  return (load) => {
    const loaded = previous.then(() => loadAndWait(load));
    previous = loaded.catch(() => undefined);
    return loaded;
  };
}
