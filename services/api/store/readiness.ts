import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
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
  const stopping = new AbortController();
  const poll = async () => {
    const current = await snapshots.current().then(() => null, errorMessage);
    if (current !== null && current !== reason) logger.warn({ reason: current }, 'not ready');
    if (current === null && reason !== null) logger.info('ready');
    reason = current;
  };
  const loop = async () => {
    while (!stopping.signal.aborted) {
      await poll();
      await sleep(pollIntervalMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
  };
  void loop();
  return {
    reason: () => reason,
    stop: () => {
      reason = 'stopping';
      stopping.abort();
    },
  };
}
