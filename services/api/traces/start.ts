import type { Db } from 'mongodb';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Route } from '../http/route.ts';
import { startTraceQueue } from './trace-queue.ts';
import { createTraceWriter } from './trace-store.ts';
import { createTracer, type Trace } from './tracer.ts';

export type Tracing = { trace: Trace; stop: () => Promise<void> };

/** Traces requests into the control database; `stop` writes what is still queued. */
export function startTracing(
  { control, routes, metrics, logger }: { control: Db; routes: Route[]; metrics: Metrics; logger: Logger },
  { keptDays }: { keptDays: number },
): Tracing {
  const write = createTraceWriter(control);
  const { tracesWritten: written, tracesLost: lost } = metrics;
  const { add, stop } = startTraceQueue({ write, written, lost, logger });
  return { trace: createTracer({ routes, add }, { keptDays }), stop };
}
