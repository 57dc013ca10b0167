/** The exit code of a projector that its supervisor has to start again: EX_TEMPFAIL. */
export const startAgainCode = 75;

/** The wall clock was set while the process ran. */
export class WallClockSet extends Error {
  override name = 'WallClockSet';
}

/** A step of up to this long, in milliseconds, delays kafkajs less than a session lasts. */
const stepMaxMs = 5_000;

/**
 * Calls `onSet` when the wall clock steps against the monotonic one, and stops monitoring. kafkajs compares readings of
 * the wall clock: if it is set back, the consumer sends no heartbeat, refreshes no metadata and gives up no request for
 * as long.
 */
export function monitorWallClock(
  onSet: (error: WallClockSet) => void,
  wallMs: () => number = () => Date.now(),
  intervalMs = 1_000,
): void {
  const aheadMs = () => wallMs() - performance.now();
  let lastMs = aheadMs();
  const timer = setInterval(() => {
    const stepMs = aheadMs() - lastMs;
    // An adjustment in small steps is harmless, however long it goes on.
    lastMs += stepMs;
    if (Math.abs(stepMs) <= stepMaxMs) return;
    clearInterval(timer);
    const direction = stepMs < 0 ? 'back' : 'forward';
    const seconds = Math.round(Math.abs(stepMs) / 1_000);
    const set = `the clock of this host was set ${direction} by ${seconds} s`;
    onSet(new WallClockSet(`${set}: start the projector again`));
  }, intervalMs);
  timer.unref();
}
