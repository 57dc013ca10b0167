import type { TopicPartition } from '../../shared/control/topic-partition.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { AppliedChunk } from './hand-over.ts';
import type { Metrics } from './metrics.ts';

type CountDeps = {
  metrics: Pick<Metrics, 'events' | 'deadLetters' | 'late'>;
  logger: Logger;
  /** Returns the watermark. An event older than it counts as late. */
  watermarkMs: () => number;
};

/** Counts the events and dead letters of a chunk. */
export function countApplied(deps: CountDeps, { topic }: TopicPartition, applied: AppliedChunk): void {
  const { metrics, logger } = deps;
  const { events, rejected, times } = applied;
  metrics.events.inc({ topic }, events);
  for (const reason of rejected) metrics.deadLetters.inc({ topic, reason });
  const watermarkMs = deps.watermarkMs();
  const late = times.filter((time) => time < watermarkMs);
  metrics.late.inc({ topic }, late.length);
  if (rejected.length > 0)
    logger.warn({ topic, rejected: rejected.length }, 'records were stored as dead letters');
}
