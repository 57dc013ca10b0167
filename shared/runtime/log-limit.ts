/** Fields of a line that stands for others: how many alike were left out since the last one. */
type LeftOut = { suppressed?: number };

export type LogLimit = (write: (leftOut: LeftOut) => void) => void;

/** At most one line is written in this time, in milliseconds. */
const everyMsDefault = 1_000;

/** Creates the limit of one kind of line: it writes the first of each second, and counts the others for the next. */
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
