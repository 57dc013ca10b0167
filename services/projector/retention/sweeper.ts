import { watermark } from '../../../shared/store/generations.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { eraseSince } from '../dead-letters/erase.ts';
import type { Store } from '../materialize/store.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { repeat, type Repeating } from '../../../shared/runtime/repeat.ts';
import { releaseLease, takeLease } from './lease.ts';
import { sweep, type Swept, type SweepDeps } from './sweep.ts';

export type SweeperDeps = Omit<SweepDeps, 'asOf' | 'signal'> & {
  store: Store;
  generation: number;
  metrics: Metrics;
  logger: Logger;
};

/** Frees what was past its retention at the watermark; nothing before there is one. */
export async function sweepApplied(deps: Omit<SweepDeps, 'asOf'> & { generation: number }): Promise<Swept> {
  const asOf = await watermark(deps.control, deps.generation);
  return asOf ? sweep({ ...deps, asOf }) : { conversations: 0, messages: 0 };
}

/** A letter is written within this time of being dated, in milliseconds, or is looked at by the next projector. */
const deadLettersOverlapMs = 600_000;

/**
 * Sweeps every few minutes, one projector of a generation at a time. What is past its retention is not served from
 * that instant on, and is freed within minutes of it; while the projector catches up, not before the log is applied
 * up to it. Dead letters that outlived what they are about are erased, too.
 */
export function startSweeper(deps: SweeperDeps, intervalMs = 300_000): Pick<Repeating, 'stop'> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const lease = `sweep of generation ${deps.generation}`;
  let deadLettersSince = new Date(0);
  const turn = async () => {
    const startedAt = deps.now();
    if (!(await takeLease(deps.control, { id: lease, now: startedAt, durationMs: 2 * intervalMs }))) return;
    await eraseSince({ ...deps, signal }, deadLettersSince);
    // A letter's time was taken before it was written; clocks and steps may differ by as much.
    deadLettersSince = new Date(startedAt.getTime() - deadLettersOverlapMs);
    const swept = await sweepApplied({ ...deps, signal });
    deps.metrics.expired.inc(swept.conversations);
    if (swept.conversations + swept.messages > 0) deps.logger.info(swept, 'freed data past its retention');
  };
  const sweeping = repeat(turn, {
    intervalMs,
    onError: (error) => {
      if (!signal.aborted) deps.logger.warn({ error }, 'the sweep failed; it runs again in some minutes');
    },
  });
  return {
    stop: async () => {
      stopping.abort(new Error('the projector stops'));
      await sweeping.stop();
      await releaseLease(deps.control, lease).catch(() => undefined);
    },
  };
}
