import type { CommandOperationOptions, Db } from 'mongodb';

/**
 * The time of the store's own clock, that of the primary. Every service judges completeness and expiry by this
 * clock, because the clocks of hosts and of producers may be wrong.
 */
export async function storeTime(control: Db, options: CommandOperationOptions = {}): Promise<Date> {
  const { localTime } = await control.command({ hello: 1 }, options);
  return localTime as Date;
}

export type StoreClock = ReturnType<typeof createStoreClock>;

/**
 * The time of the store that `read` returns, without a command for each reading: its time at the last `read`, and the time
 * of the monotonic clock `nowMs` since. `now` throws before the first `read`.
 */
export function createStoreClock(read: () => Promise<Date>, nowMs: () => number) {
  let last: { time: Date; atMs: number } | null = null;
  const readClock = async (): Promise<Date> => {
    last = { time: await read(), atMs: nowMs() };
    return last.time;
  };
  const now = (): Date => {
    if (!last) throw new Error('the clock of the store was not read yet');
    return new Date(last.time.getTime() + nowMs() - last.atMs);
  };
  return {
    read: readClock,
    now,
    /** As `now`, after a first `read` if there was none. */
    nowOrRead: async (): Promise<Date> => (last ? now() : readClock()),
  };
}
