import { isRefusal } from '../../shared/kafka/errors.ts';

/** A process that is refused for this long ends, in milliseconds: its successor reads settings and files again. */
const limitDefaultMs = 60_000;

export type RefusalLimit = {
  /** Whether this error is a refusal, and the first one is longer ago than the limit. */
  isReached: (error: unknown) => boolean;
  /** The servers have answered: earlier refusals have passed. */
  clear: () => void;
};

/**
 * Measures for how long the servers have refused this process. Other errors in between do not end that: some brokers
 * may refuse it while others are away.
 */
export function createRefusalLimit(nowMs: () => number, limitMs: number = limitDefaultMs): RefusalLimit {
  let firstMs: number | null = null;
  return {
    isReached: (error) => {
      if (!isRefusal(error)) return false;
      firstMs ??= nowMs();
      return nowMs() - firstMs >= limitMs;
    },
    clear: () => {
      firstMs = null;
    },
  };
}
