import type { HoldCause } from '../../../shared/control/hold-causes.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Snapshot } from '../partition/snapshot.ts';

/** A shorter wait for a broker is usual, in milliseconds. */
const usualMs = 30_000;

const waitsForBroker = (cause: HoldCause | undefined): boolean =>
  cause === 'undelivered' || cause === 'new_leader';

/**
 * Returns a function that logs, once for each wait, that a partition has records which its broker does not deliver. The
 * commit loop calls it about once a second, with the partitions and the ends of their logs at `nowMs`.
 */
export function createDeliveryLog({ logger }: { logger: Logger }) {
  const waits = new Map<string, { mark: string; sinceMs: number; isLogged: boolean }>();
  return (nowMs: number, snapshot: Snapshot[], ends: ReadonlyMap<string, { end: number }>): void => {
    for (const { topic, partition, position, cause, throttledMs } of snapshot) {
      const key = partitionKey({ topic, partition });
      const end = ends.get(key)?.end ?? 0;
      if (!waitsForBroker(cause) || position >= end) {
        waits.delete(key);
        continue;
      }
      const mark = `${cause} ${position}`;
      const wait = waits.get(key);
      if (wait?.mark !== mark) waits.set(key, { mark, sinceMs: nowMs, isLogged: false });
      else if (!wait.isLogged && nowMs - wait.sinceMs >= usualMs) {
        wait.isLogged = true;
        const line = { topic, partition, position, end, cause, throttledMs };
        logger.warn(line, 'a broker does not deliver the next records');
      }
    }
  };
}
