import { errorMessage } from '../../../shared/runtime/error-message.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat } from '../../../shared/runtime/repeat.ts';
import type { ReadSnapshots } from './read-snapshot.ts';

export type Readiness = {
  /** Null if requests can be served, otherwise the reason. */
  reason: () => string | null;
  stop: () => void;
};

/** Polling also keeps `Data-As-Of` fresh for refused requests. */
const pollIntervalMs = 1_000;

/** Polls the store until it is stopped, and logs when requests can be served and when they no longer can. */
export function watchReadiness({
  snapshots,
  logger,
}: {
  snapshots: ReadSnapshots;
  logger: Logger;
}): Readiness {
  let reason: string | null = 'the store has not been reached yet';
  let isStopping = false;
  const poll = async () => {
    const current = await snapshots.current().then(() => null, errorMessage);
    if (isStopping) return;
    if (current !== null && current !== reason) logger.warn({ reason: current }, 'not ready');
    if (current === null && reason !== null) logger.info('ready');
    reason = current;
  };
  const polling = repeat(poll, { intervalMs: pollIntervalMs, onError: () => undefined });
  return {
    reason: () => reason,
    stop: () => {
      isStopping = true;
      reason = 'stopping';
      void polling.stop();
    },
  };
}
