import type { Random } from './random.ts';

const hourMs = 3_600_000;

/** Returns increasing instants that never pass `now`. */
type Clock = { at: () => Date; advance: () => Date };

/**
 * A clock for a conversation of `steps` messages that begins at `start`. Steps last seconds to hours, and are shorter if
 * the time up to `now` does not suffice.
 */
export function conversationClock(random: Random, start: Date, now: Date, steps: number): Clock {
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
