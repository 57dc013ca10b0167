import type { Db } from 'mongodb';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Metrics } from '../metrics.ts';
import type { Route } from '../http/route.ts';
import { createMemoryRateLimiter } from '../rate-limit/memory-rate-limiter.ts';
import { startTraceQueue } from './trace-queue.ts';
import { createTraceWriter } from './trace-store.ts';
import { createTracer, type Trace } from './tracer.ts';

export type Tracing = { trace: Trace; stop: () => Promise<void> };

type TracingDeps = {
  control: Db;
  routes: Route[];
  metrics: Metrics;
  logger: Logger;
  /** A clock that never goes back, in milliseconds. */
  nowMs: () => number;
};

type TracingOptions = {
  keptDays: number;
  /** Traces a minute of requests that no rate limit bounds. */
  keylessMax: number;
};

/** Traces requests into the control database; `stop` writes what is still queued. */
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
