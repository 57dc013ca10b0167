import { watermark } from '../../../shared/store/progress.ts';
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

/** Frees data whose retention had passed at the watermark; none before there is a watermark. */
export async function sweepApplied(deps: Omit<SweepDeps, 'asOf'> & { generation: number }): Promise<Swept> {
  const asOf = await watermark(deps.control, deps.generation);
  return asOf ? sweep({ ...deps, asOf }) : { conversations: 0, messages: 0 };
}

/** A dead letter is stored within this time of its `lastAt`, in milliseconds. The next projector finds later ones. */
const deadLettersOverlapMs = 600_000;

/**
 * Sweeps every few minutes, in one projector of a generation at a time. The API stops serving expired data at once; the
 * sweep frees it within minutes, or after the log is applied up to that instant. It also erases the dead letters of
 * deleted entities: Invariant 14 in docs/internals/consistency.md.
 */
export function startSweeper(deps: SweeperDeps, intervalMs = 300_000): Pick<Repeating, 'stop'> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const lease = `sweep of generation ${deps.generation}`;
  let deadLettersSince = new Date(0);
  const sweepOnce = async () => {
    const startedAt = deps.now();
    if (!(await takeLease(deps.control, { id: lease, now: startedAt, durationMs: 2 * intervalMs }))) return;
    await eraseSince({ ...deps, signal }, deadLettersSince);
    // `lastAt` is taken before the write, by another process's clock.
    deadLettersSince = new Date(startedAt.getTime() - deadLettersOverlapMs);
    const swept = await sweepApplied({ ...deps, signal });
    deps.metrics.expired.inc(swept.conversations);
    if (swept.conversations + swept.messages > 0) deps.logger.info(swept, 'freed data past its retention');
  };
  const sweeping = repeat(sweepOnce, {
    intervalMs,
    onError: (error) => {
      if (!signal.aborted) deps.logger.warn({ error }, 'the sweep failed; it runs again in a few minutes');
    },
  });
  return {
    stop: async () => {
      stopping.abort(new Error('the projector is stopping'));
      await sweeping.stop();
      await releaseLease(deps.control, lease).catch(() => undefined);
    },
  };
}
