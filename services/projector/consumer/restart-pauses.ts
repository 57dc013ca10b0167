/** How long a consumer must run without a failure before its next restart has no pause, in milliseconds. */
const stableAfterMs = 60_000;
/** By how much each further failure lengthens the pause, in milliseconds. */
const pauseStepMs = 1_000;
/** The longest pause, in milliseconds. */
const pauseMaxMs = 10_000;

/**
 * Returns a function to call at each failure of the consumer, which returns the pause before the restart, in
 * milliseconds. Without a pause, kafkajs would restart five times a second. `nowMs` is a monotonic clock.
 */
export function createRestartPauses(nowMs: () => number = () => performance.now()): () => number {
  let failures = 0;
  let lastFailureMs: number | null = null;
  return () => {
    const wasStable = lastFailureMs === null || nowMs() - lastFailureMs > stableAfterMs;
    failures = wasStable ? 0 : failures + 1;
    lastFailureMs = nowMs();
    return Math.min(failures * pauseStepMs, pauseMaxMs);
  };
}
