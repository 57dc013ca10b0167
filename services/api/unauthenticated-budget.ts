import type { Counter } from 'prom-client';
import type { Logger } from '../../shared/runtime/logger.ts';
import { repeat } from '../../shared/runtime/repeat.ts';
import { createMemoryRateLimiter } from './rate-limit/memory-rate-limiter.ts';

const windowSeconds = 60;

type UnauthenticatedBudgetDeps = {
  /** Counts each request without a trace; null if the API stores no traces. */
  lost: Counter<'reason'> | null;
  logger: Pick<Logger, 'warn'>;
  nowMs: () => number;
};

/**
 * Bounds the log lines and traces of requests without a valid key, or above a rate limit. Otherwise any client that
 * reaches the port could fill the disk of the log, and MongoDB. One line a minute counts the requests that were left
 * out: a request has both a line and a trace, or neither.
 */
export function startUnauthenticatedBudget(
  { lost, logger, nowMs }: UnauthenticatedBudgetDeps,
  requests: number,
) {
  const budget = createMemoryRateLimiter({ limit: { requests, windowSeconds }, nowMs });
  let leftOut = 0;
  const report = () => {
    if (leftOut > 0) logger.warn({ requests: leftOut }, 'requests without a key were left out of the log');
    leftOut = 0;
  };
  const reporting = repeat(async () => report(), {
    intervalMs: windowSeconds * 1_000,
    onError: () => undefined,
  });
  return {
    /** Whether a request without a valid key, or above a rate limit, may have a log line and a trace. */
    admitUnauthenticated: (): boolean => {
      const { admitted } = budget.consume('unauthenticated');
      if (!admitted) {
        leftOut += 1;
        lost?.inc({ reason: 'unauthenticated_budget' });
      }
      return admitted;
    },
    stop: async (): Promise<void> => {
      await reporting.stop();
      report();
    },
  };
}
