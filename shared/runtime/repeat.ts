export type Repeating = {
  /** Ends the repetition. Resolves when the run in progress has ended. */
  stop: () => Promise<void>;
};

/** One run of repeated work. */
export type RepeatedRun = {
  /** To be called after each part of a long run. */
  onProgress: () => void;
  /** Aborted once the run counts as stalled: it must not begin another part. */
  signal: AbortSignal;
};

type RepeatOptions = {
  intervalMs: number;
  /** A run without progress for this long fails, in milliseconds. The next run does not wait for it. */
  stalledAfterMs?: number;
  onError: (error: unknown) => void;
  /** The pause after a failed run, `failures` in a row; `intervalMs` by default. */
  retryMs?: (error: unknown, failures: number) => number;
};

/**
 * Calls `run` again `intervalMs` after each run has ended, whether the run succeeded or failed. Runs never overlap,
 * except with a stalled one. Errors go to `onError`.
 */
export function repeat(
  run: (context: RepeatedRun) => Promise<void>,
  { intervalMs, stalledAfterMs, onError, retryMs = () => intervalMs }: RepeatOptions,
): Repeating {
  let stopped = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  /** Runs once; resolves with the pause after it. */
  const runOnce = async (): Promise<number> => {
    try {
      await runUnlessStalled(run, stalledAfterMs);
      failures = 0;
      return intervalMs;
    } catch (error) {
      failures += 1;
      onError(error);
      return retryMs(error, failures);
    }
  };
  const start = () => {
    running = runOnce().then((pauseMs) => {
      if (!stopped) timer = setTimeout(start, pauseMs);
    });
  };
  start();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** Rejects if `run` makes no progress for `stalledAfterMs`. */
async function runUnlessStalled(
  run: (context: RepeatedRun) => Promise<void>,
  stalledAfterMs?: number,
): Promise<void> {
  const stalled = new AbortController();
  const { signal } = stalled;
  if (stalledAfterMs === undefined) return run({ onProgress: () => undefined, signal });
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`no progress for ${stalledAfterMs / 1_000} s`);
    stalled.abort(error);
    reject(error);
  }, stalledAfterMs);
  const onProgress = () => {
    if (!signal.aborted) timer.refresh();
  };
  return Promise.race([run({ onProgress, signal }), expired]).finally(() => clearTimeout(timer));
}
