/** The exit code of a projector that its supervisor has to restart: EX_TEMPFAIL. */
export const restartExitCode = 75;

/** The wall clock was set while the process ran. */
export class WallClockChanged extends Error {
  override name = 'WallClockChanged';
}

/**
 * The largest harmless step of the clock, in milliseconds. It is shorter than a session, so the group keeps a consumer
 * whose heartbeat comes this much late.
 */
const stepMaxMs = 5_000;

/**
 * Calls `onSet` once the wall clock steps against the monotonic clock, then stops monitoring. kafkajs measures time by
 * the wall clock. If the wall clock is set back by an hour, the consumer sends no heartbeat, refreshes no metadata and
 * times out no request for an hour.
 */
export function monitorWallClock(
  onSet: (error: WallClockChanged) => void,
  wallMs: () => number = () => Date.now(),
  intervalMs = 1_000,
): void {
  /** How far the wall clock is ahead of the monotonic clock. */
  const aheadMs = () => wallMs() - performance.now();
  let lastAheadMs = aheadMs();
  const timer = setInterval(() => {
    const nowAheadMs = aheadMs();
    // Counts from the last check, because an adjustment in many small steps is harmless.
    const stepMs = nowAheadMs - lastAheadMs;
    lastAheadMs = nowAheadMs;
    if (Math.abs(stepMs) <= stepMaxMs) return;
    clearInterval(timer);
    const direction = stepMs < 0 ? 'back' : 'forward';
    const seconds = Math.round(Math.abs(stepMs) / 1_000);
    const change = `the clock of this host was set ${direction} by ${seconds} s`;
    onSet(new WallClockChanged(`${change}: start the projector again`));
  }, intervalMs);
  timer.unref();
}
