import type { CommandOperationOptions, Db } from 'mongodb';

/**
 * The time of the store's own clock, that of the primary. Every service judges completeness and expiry by this
 * clock, because the clocks of hosts and of producers may be wrong.
 */
export async function storeTime(control: Db, options: CommandOperationOptions = {}): Promise<Date> {
  const { localTime } = await control.command({ hello: 1 }, options);
  return localTime as Date;
}

/**
 * The store's time without a command for each reading: its time at the last `read`, and the monotonic time since. `now`
 * throws before the first `read`.
 */
export type StoreClock = { read: () => Promise<Date>; now: () => Date };

/** Creates the clock of a store whose time `read` returns. `nowMs` is a monotonic clock, in milliseconds. */
export function createStoreClock(read: () => Promise<Date>, nowMs: () => number): StoreClock {
  let last: { time: Date; atMs: number } | null = null;
  return {
    read: async () => {
      last = { time: await read(), atMs: nowMs() };
      return last.time;
    },
    now: () => {
      if (!last) throw new Error('the clock of the store was not read yet');
      return new Date(last.time.getTime() + nowMs() - last.atMs);
    },
  };
}
