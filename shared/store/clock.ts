import type { CommandOperationOptions, Db } from 'mongodb';

/**
 * The time of the store's own clock, that of the primary. Every service judges completeness and expiry by this
 * clock, because the clocks of hosts and of producers may be wrong.
 */
export async function storeTime(control: Db, options: CommandOperationOptions = {}): Promise<Date> {
  const { localTime } = await control.command({ hello: 1 }, options);
  return localTime as Date;
}

/** The store's time without a command for each reading: its time at the last `read`, and the monotonic time since. */
export type StoreClock = { read: () => Promise<Date>; now: () => Date };

/** Reads the store's time, and keeps it. `nowMs` is a monotonic clock, in milliseconds. */
export async function openStoreClock(read: () => Promise<Date>, nowMs: () => number): Promise<StoreClock> {
  const readAt = async () => ({ time: await read(), atMs: nowMs() });
  let last = await readAt();
  return {
    read: async () => {
      last = await readAt();
      return last.time;
    },
    now: () => new Date(last.time.getTime() + nowMs() - last.atMs),
  };
}
