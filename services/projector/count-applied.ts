import type { TopicPartition } from '../../shared/control/topic-partition.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { Applied } from './hand-over.ts';
import type { Metrics } from './metrics.ts';

/** Counts applied events and dead letters. An event older than the watermark counts as late. */
export const countApplied =
  (
    metrics: Pick<Metrics, 'events' | 'deadLetters' | 'late'>,
    logger: Logger,
    watermarkMs: () => number,
  ): ((place: TopicPartition, applied: Applied) => void) =>
  ({ topic }, { events, rejected, times }) => {
    metrics.events.inc({ topic }, events);
    for (const reason of rejected) metrics.deadLetters.inc({ topic, reason });
    metrics.late.inc({ topic }, times.filter((time) => time < watermarkMs()).length);
    if (rejected.length > 0)
      logger.warn({ topic, rejected: rejected.length }, 'records were stored as dead letters');
  };
