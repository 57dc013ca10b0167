import { readHello } from './hello.ts';
import type { Commanded, CommandLimits } from './run-command.ts';

/**
 * The time of the store's own clock, that of the primary. Every service decides completeness and expiry by this
 * clock, because the clocks of hosts and of producers may be wrong.
 */
export async function storeTime(control: Commanded, limits: CommandLimits = {}): Promise<Date> {
  return (await readHello(control, limits)).localTime;
}

export type StoreClock = {
  /** Reads the time of the store. */
  read: () => Promise<Date>;
  /** The time at the last `read`, plus the time since then. Throws before the first `read`. */
  now: () => Date;
  /** Like `now`, but makes the first `read` itself. */
  nowOrRead: () => Promise<Date>;
};

/**
 * Creates a clock that knows the time of the store without a command for each reading: the time at the last `read`,
 * plus the time that has passed since then on the monotonic clock `nowMs`.
 */
export function createStoreClock(read: () => Promise<Date>, nowMs: () => number): StoreClock {
  let last: { time: Date; atMs: number } | null = null;
  const readClock = async (): Promise<Date> => {
    last = { time: await read(), atMs: nowMs() };
    return last.time;
  };
  const now = (): Date => {
    if (!last) throw new Error('the clock of the store was not read yet');
    return new Date(last.time.getTime() + nowMs() - last.atMs);
  };
  return { read: readClock, now, nowOrRead: async () => (last ? now() : readClock()) };
}
