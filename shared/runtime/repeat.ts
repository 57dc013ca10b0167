export type Repeating = {
  /** Starts the next run at once, or right after the run in progress. */
  runNow: () => void;
  /** Starts no further run. Resolves when the run in progress has ended. */
  stop: () => Promise<void>;
};

type RepeatOptions = {
  intervalMs: number;
  onError: (error: unknown) => void;
  /** The pause after a failed run, `failures` in a row; `intervalMs` by default. */
  retryMs?: (error: unknown, failures: number) => number;
};

/**
 * Calls `run` repeatedly, `intervalMs` after each run has ended, whether it succeeded or failed. Errors go to
 * `onError`.
 */
export function repeat(
  run: () => Promise<void>,
  { intervalMs, onError, retryMs = () => intervalMs }: RepeatOptions,
): Repeating {
  let stopped = false;
  let runAgain = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  /** Runs once; resolves with the pause after it. */
  const runOnce = async (): Promise<number> => {
    try {
      await run();
      failures = 0;
      return intervalMs;
    } catch (error) {
      failures += 1;
      onError(error);
      return retryMs(error, failures);
    }
  };
  const start = () => {
    timer = undefined;
    runAgain = false;
    const ended = runOnce();
    running = ended.then(() => undefined);
    void ended.then((pauseMs) => {
      if (!stopped) timer = setTimeout(start, runAgain ? 0 : pauseMs);
    });
  };
  start();
  return {
    runNow: () => {
      runAgain = true;
      if (!timer || stopped) return;
      clearTimeout(timer);
      start();
    },
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
