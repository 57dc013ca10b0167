import type { Gauge } from 'prom-client';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat } from '../../../shared/runtime/repeat.ts';
import { explainedStoreError } from '../../../shared/store/errors.ts';
import type { ReadSnapshots } from './read-snapshot.ts';

/** The poll also keeps `Data-As-Of` fresh for requests that read no snapshot, such as refused ones. */
const pollIntervalMs = 1_000;

/**
 * How long a replica stays ready while MongoDB is away: longer than the election of a primary takes. Otherwise all
 * replicas would become unready together, and clients would get an error of the load balancer instead of a 503 with
 * `Retry-After`.
 */
const toleratedMs = 15_000;

type ReadinessDeps = {
  snapshots: Pick<ReadSnapshots, 'current'>;
  metrics: { ready: Gauge };
  logger: Logger;
  nowMs: () => number;
};

/** Polls MongoDB until it is stopped, and logs when requests can be served and when they no longer can. */
export function pollReadiness({ snapshots, metrics, logger, nowMs }: ReadinessDeps) {
  let reason: string | null = 'MongoDB has not been reached yet';
  let reachedMs = -Infinity;
  let isStopping = false;
  const failure = () => {
    if (isStopping) return 'stopping';
    return nowMs() - reachedMs < toleratedMs ? null : reason;
  };
  const poll = async () => {
    const current = await snapshots.current().then(() => null, explainedStoreError);
    if (isStopping) return;
    if (current !== null && current !== reason) logger.warn({ reason: current }, 'not ready');
    if (current === null && reason !== null) logger.info('ready');
    if (current === null) reachedMs = nowMs();
    reason = current;
    metrics.ready.set(failure() === null ? 1 : 0);
  };
  const polling = repeat(poll, { intervalMs: pollIntervalMs, onError: () => undefined });
  return {
    /** Null if requests can be served, or could within the last 15 seconds; otherwise the reason. */
    reason: failure,
    stop: () => {
      isStopping = true;
      metrics.ready.set(0);
      void polling.stop();
    },
  };
}
