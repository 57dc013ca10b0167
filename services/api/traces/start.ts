import type { Db } from 'mongodb';
import type { Counter } from 'prom-client';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Route } from '../http/route.ts';
import { createMemoryRateLimiter } from '../rate-limit/memory-rate-limiter.ts';
import { startTraceQueue } from './trace-queue.ts';
import { createTraceWriter } from './trace-store.ts';
import { createTracer, type Trace } from './tracer.ts';

export type Tracing = { trace: Trace; stop: () => Promise<void> };

type TracingDeps = {
  control: Db;
  routes: Route[];
  metrics: { tracesWritten: Counter; tracesLost: Counter<'reason'> };
  logger: Logger;
  /** A monotonic clock, in milliseconds. */
  nowMs: () => number;
};

type TracingOptions = {
  keptDays: number;
  /** Traces per minute of requests without a valid key or above the rate limit. */
  keylessMax: number;
};

/** Stores request traces in the control database; `stop` writes the traces that are still queued. */
export function startTracing(
  { control, routes, metrics, logger, nowMs }: TracingDeps,
  { keptDays, keylessMax }: TracingOptions,
): Tracing {
  const write = createTraceWriter(control);
  const { tracesWritten: written, tracesLost: lost } = metrics;
  const { add, stop } = startTraceQueue({ write, written, lost, logger });
  const budget = createMemoryRateLimiter({ limit: { requests: keylessMax, windowSeconds: 60 }, nowMs });
  return { trace: createTracer({ routes, add, budget, lost }, { keptDays }), stop };
}
