import type { Random } from './random.ts';

export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** Moments that follow one another without ever passing `now`. */
export type Clock = { at: () => Date; advance: () => Date };

/**
 * A clock for a thread of `steps` messages from `start` on: steps of seconds to hours, shorter where the time
 * up to `now` would not do.
 */
export function threadClock(random: Random, start: Date, now: Date, steps: number): Clock {
  let at = start.getTime();
  const stepMsMax = Math.min(9 * hourMs, (1.8 * (now.getTime() - at)) / (steps + 1));
  return {
    at: () => new Date(at),
    advance: () => {
      at = Math.min(now.getTime(), at + Math.ceil(random.unit() ** 2 * stepMsMax));
      return new Date(at);
    },
  };
}
