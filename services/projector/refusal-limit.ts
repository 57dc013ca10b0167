import { isRefusal } from '../../shared/kafka/errors.ts';

/**
 * How long the servers may refuse a process before it ends, in milliseconds. Its successor reads settings and
 * certificates again.
 */
const limitDefaultMs = 60_000;

export type RefusalLimit = {
  /** Whether this error is a refusal, and the first one is longer ago than the limit. */
  isReached: (error: unknown) => boolean;
  /** Called when the servers have answered. The next refusal is then the first one. */
  clear: () => void;
};

/**
 * Measures for how long the servers have refused this process. Another error does not interrupt a refusal, because some
 * brokers may refuse the process while others are away.
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
