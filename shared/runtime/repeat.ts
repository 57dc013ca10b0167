export type Repeating = ReturnType<typeof repeat>;

/**
 * Calls `run` repeatedly, `intervalMs` after each run has ended, whether it succeeded or failed. Errors go to
 * `onError`. `stop` starts no further run, and resolves when the run in progress has ended.
 */
export function repeat(
  run: () => Promise<void>,
  { intervalMs, onError }: { intervalMs: number; onError: (error: unknown) => void },
) {
  let stopped = false;
  let runAgain = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const start = () => {
    timer = undefined;
    runAgain = false;
    running = run().catch(onError);
    void running.then(() => {
      if (!stopped) timer = setTimeout(start, runAgain ? 0 : intervalMs);
    });
  };
  start();
  return {
    /** Starts the next run at once, or right after the run in progress. */
    runNow: (): void => {
      runAgain = true;
      if (!timer || stopped) return;
      clearTimeout(timer);
      start();
    },
    stop: async (): Promise<void> => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
