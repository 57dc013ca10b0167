import type { Db } from 'mongodb';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { SettleOptions } from '../materialize/settle.ts';
import type { Metrics } from '../metrics.ts';
import { sweep } from './sweep.ts';

export type SweeperDeps = SettleOptions & { database: Db; control: Db; metrics: Metrics; logger: Logger };

/**
 * Sweeps once a minute, for as long as the projector runs: what is past its retention is not served from that
 * instant on, and is removed within minutes of it.
 */
export function startSweeper(deps: SweeperDeps, intervalMs = 60_000): { stop: () => Promise<void> } {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const checkpoint = () => {
    if (stopped) throw new Error('the projector stops');
  };
  const tick = () => {
    running = sweep({ ...deps, checkpoint })
      .then((removed) => {
        deps.metrics.lapsed.inc(removed);
        if (removed > 0) deps.logger.info({ removed }, 'removed conversations past their retention');
      })
      .catch((error: unknown) => {
        if (!stopped) deps.logger.warn({ error }, 'the sweep failed; trying again in a minute');
      })
      .finally(() => {
        if (!stopped) timer = setTimeout(tick, intervalMs);
      });
  };
  tick();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
