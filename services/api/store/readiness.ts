import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { ReadSnapshots } from './read-snapshot.ts';

export type Readiness = {
  /** Null when requests can be served, else why not. */
  reason: () => string | null;
  stop: () => void;
};

/** How often the store is looked at, in milliseconds. It also keeps `Data-As-Of` fresh for refused requests. */
const intervalMs = 1_000;

/** Watches the store for the whole life of the process, and logs when it becomes servable or stops being so. */
export function watchReadiness({
  snapshots,
  logger,
}: {
  snapshots: ReadSnapshots;
  logger: Logger;
}): Readiness {
  let reason: string | null = 'the store has not been reached yet';
  const stopping = new AbortController();
  const look = async () => {
    const found = await snapshots.current().then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (found !== null && found !== reason) logger.warn({ reason: found }, 'not ready');
    if (found === null && reason !== null) logger.info('ready');
    reason = found;
  };
  const loop = async () => {
    while (!stopping.signal.aborted) {
      await look();
      await sleep(intervalMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
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
