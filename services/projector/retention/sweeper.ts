import type { Db } from 'mongodb';
import { watermark } from '../../../shared/runtime/generation.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { eraseSince } from '../dead-letters/erase.ts';
import type { FanOutOptions } from '../materialize/fan-out.ts';
import type { SettleOptions } from '../materialize/settle.ts';
import type { Metrics } from '../metrics.ts';
import { repeat, type Repeating } from '../repeat.ts';
import { sweep } from './sweep.ts';

export type SweeperDeps = SettleOptions & {
  database: Db;
  control: Db;
  prefix: string;
  generation: number;
  metrics: Metrics;
  logger: Logger;
};

/** Removes what was past its retention at the watermark; nothing before there is one. */
export async function sweepApplied(
  options: FanOutOptions & Pick<SweeperDeps, 'database' | 'control' | 'prefix' | 'generation'>,
): Promise<number> {
  const asOf = await watermark(options.control, options.generation);
  return asOf ? sweep({ ...options, asOf }) : 0;
}

/** A letter is written within this time of being dated, in milliseconds, or is looked at by the next projector. */
const lettersOverlapMs = 600_000;

/**
 * Sweeps once a minute, for as long as the projector runs: what is past its retention is not served from that
 * instant on, and is removed within minutes of it; while the projector catches up, not before the log is
 * applied up to it. Letters that outlived what they are about go too.
 */
export function startSweeper(deps: SweeperDeps, intervalMs = 60_000): Repeating {
  let stopped = false;
  const checkpoint = () => {
    if (stopped) throw new Error('the projector stops');
  };
  let lettersSince = new Date(0);
  const turn = async () => {
    const startedAt = deps.now();
    await eraseSince({ ...deps, checkpoint }, lettersSince);
    // A letter's time was taken before it was written; clocks and steps may differ by as much.
    lettersSince = new Date(startedAt.getTime() - lettersOverlapMs);
    const removed = await sweepApplied({ ...deps, checkpoint });
    deps.metrics.lapsed.inc(removed);
    if (removed > 0) deps.logger.info({ removed }, 'removed conversations past their retention');
  };
  const sweeping = repeat(turn, {
    intervalMs,
    onError: (error) => {
      if (!stopped) deps.logger.warn({ error }, 'the sweep failed; trying again in a minute');
    },
  });
  return {
    stop: () => {
      stopped = true;
      return sweeping.stop();
    },
  };
}
