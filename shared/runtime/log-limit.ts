/** A field of a log line: how many lines of its kind were left out since the previous line. */
type LeftOut = { suppressed?: number };

/** Calls `write` unless a line of this kind was written within the last second. */
export type LogLimit = (write: (leftOut: LeftOut) => void) => void;

/** At most one line is written in this time, in milliseconds. */
const everyMsDefault = 1_000;

/** Creates the limit for one kind of log line. The lines that it leaves out are counted in the next line. */
export function createLogLimit(
  nowMs: () => number = () => performance.now(),
  everyMs = everyMsDefault,
): LogLimit {
  let writtenMs = -Infinity;
  let suppressed = 0;
  return (write) => {
    if (nowMs() - writtenMs < everyMs) {
      suppressed += 1;
      return;
    }
    write(suppressed > 0 ? { suppressed } : {});
    writtenMs = nowMs();
    suppressed = 0;
  };
}
