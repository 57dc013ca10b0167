export type Repeating = {
  /** Begins the next turn at once, or right behind the one under way. */
  hurry: () => void;
  stop: () => Promise<void>;
};

/**
 * Runs `turn` again and again, `intervalMs` after the end of the one before, whatever became of that; a failure
 * goes to `onError`. `stop` starts no further turn, and resolves when the one under way has ended.
 */
export function repeat(
  turn: () => Promise<void>,
  { intervalMs, onError }: { intervalMs: number; onError: (error: unknown) => void },
): Repeating {
  let stopped = false;
  let hurried = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const next = () => {
    timer = undefined;
    hurried = false;
    running = turn().catch(onError);
    void running.then(() => {
      if (!stopped) timer = setTimeout(next, hurried ? 0 : intervalMs);
    });
  };
  next();
  return {
    hurry: () => {
      hurried = true;
      if (!timer || stopped) return;
      clearTimeout(timer);
      next();
    },
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
