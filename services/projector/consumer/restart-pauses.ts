/** A consumer that has run for this long since its last failure restarts at once, in milliseconds. */
const calmAfterMs = 60_000;
/** Each further pause is longer by as much, up to the longest one, in milliseconds. */
const stepMs = 1_000;
const longestMs = 10_000;

/**
 * Returns a function that gives, at each failure of the consumer, the pause before its restart, in milliseconds:
 * kafkajs restarts after a fifth of a second, however often. `nowMs` is a monotonic clock.
 */
export function createRestartPauses(nowMs: () => number = () => performance.now()): () => number {
  let failures = 0;
  let lastMs = -Infinity;
  return () => {
    failures = nowMs() - lastMs > calmAfterMs ? 0 : failures + 1;
    lastMs = nowMs();
    return Math.min(failures * stepMs, longestMs);
  };
}
