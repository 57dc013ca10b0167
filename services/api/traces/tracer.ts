import type { Db } from 'mongodb';
import type { Counter } from 'prom-client';
import type { RequestTrace } from '../../../shared/control/request-traces.ts';
import type { Caller } from '../../../shared/keys/token-keys.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Route } from '../http/route.ts';
import { startTraceQueue } from './trace-queue.ts';
import { createTraceWriter } from './trace-store.ts';
import { tracedId, tracedParameters } from './traced-values.ts';

/** A request that has ended, unfiltered. The tracer removes the data that a trace must not contain. */
export type EndedRequest = Pick<
  RequestTrace,
  'at' | 'method' | 'route' | 'status' | 'code' | 'durationMs' | 'aborted'
> & { requestId: string; pathId?: string | undefined; search: string; caller?: Caller | undefined };

export type Trace = (request: EndedRequest) => void;

type TracingDeps = {
  control: Db;
  routes: Route[];
  /** Counts the traces that are lost. */
  lost: Counter<'reason'>;
  logger: Logger;
  /** The store's time, by which traces expire. */
  now: () => Promise<Date>;
};

/**
 * Creates the trace of each ended request, and stores traces in the control database for `keptDays`. `stop` writes the
 * traces that are still queued.
 */
export function startTracing({ control, routes, lost, logger, now }: TracingDeps, keptDays: number) {
  const write = createTraceWriter({ control, now }, keptDays);
  const { add, stop } = startTraceQueue({ write, lost, logger });
  const shapes = new Map(routes.map(({ path, query }) => [path, query.shape]));
  const parametersOf = (route: string | null, search: string) =>
    tracedParameters(shapes.get(route ?? '') ?? {}, search);
  const trace: Trace = ({ requestId, pathId, search, caller, ...request }) => {
    add({
      _id: requestId,
      ...request,
      pathId: tracedId(pathId),
      // Parameter names are free text of the client, so they are stored only for callers with a key.
      parameters: caller ? parametersOf(request.route, search) : [],
      durationMs: Math.round(request.durationMs * 10) / 10,
      keyId: caller?.keyId ?? null,
      orgId: caller?.orgId ?? null,
    });
  };
  return { trace, stop };
}
