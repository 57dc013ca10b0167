/** How long a consumer must run without a failure before its next restart has no pause, in milliseconds. */
const stableAfterMs = 60_000;
/** By how much each further failure lengthens the pause, in milliseconds. */
const stepMs = 1_000;
/** The longest pause, in milliseconds. */
const longestMs = 10_000;

/**
 * Returns a function to call at each failure of the consumer, which returns the pause before the restart, in
 * milliseconds. Without a pause, kafkajs would restart five times a second. `nowMs` is a monotonic clock.
 */
export function createRestartPauses(nowMs: () => number = () => performance.now()): () => number {
  let failures = 0;
  let lastMs = -Infinity;
  return () => {
    failures = nowMs() - lastMs > stableAfterMs ? 0 : failures + 1;
    lastMs = nowMs();
    return Math.min(failures * stepMs, longestMs);
  };
}
