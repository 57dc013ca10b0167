import { countUnapplied, type UnappliedCount } from '../../../shared/control/ledger-store.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat, type Repeating } from '../../../shared/runtime/repeat.ts';
import type { Engine } from '../engine.ts';
import type { Metrics } from '../metrics.ts';

/** How often the dead letters are counted for the metrics, in milliseconds. */
const showEveryMs = 15_000;

/** Shows in the metrics the dead letters of the generation, and how full the shares of their bytes are. */
export function monitorDeadLetters(
  { control, generation, shares }: Pick<Engine, 'control' | 'generation' | 'shares'>,
  metrics: Pick<Metrics, 'deadLettersUnapplied' | 'deadLetterBytes'>,
  logger: Logger,
): Repeating {
  let shown: UnappliedCount[] = [];
  const show = async () => {
    metrics.deadLetterBytes.set(await shares.filled());
    const counts = await countUnapplied(control, generation);
    // A redrive or a purge may have emptied a series.
    for (const { topic, reason } of shown) metrics.deadLettersUnapplied.set({ topic, reason }, 0);
    for (const { topic, reason, count } of counts) metrics.deadLettersUnapplied.set({ topic, reason }, count);
    shown = counts;
  };
  return repeat(show, {
    intervalMs: showEveryMs,
    onError: (error) => logger.warn({ error }, 'the dead letters could not be counted'),
  });
}
