import type { Db } from 'mongodb';
import { measureBytes } from '../../shared/control/record-bytes.ts';
import { partitionKey } from '../../shared/control/topic-partition.ts';
import { topicOf, topicsOf } from '../../shared/kafka/topics.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { thrownPlaces } from '../../shared/store/code-errors.ts';
import type { FinishDeps } from './apply/phases.ts';
import type { ProjectorConfig } from './config.ts';
import { type ByteShares, createByteShares, shareOf } from './dead-letters/byte-shares.ts';
import { mongoStore } from './materialize/mongo-store.ts';
import type { Metrics } from './metrics.ts';
import type { Positions } from './partition/positions.ts';

export type EngineDeps = Pick<FinishDeps, 'control' | 'generation' | 'now'> & {
  /** The documents of the generation. */
  database: Db;
  /** They show which records have been applied. */
  positions: Positions;
  metrics: Metrics;
  logger: Logger;
};

/** The dependencies for applying records. */
export type Engine = FinishDeps & { shares: ByteShares };

/** Creates the dependencies for applying records: the store of the documents, the dead letters, and the log lines. */
export function createEngine(
  { control, database, generation, now, positions, metrics, logger }: EngineDeps,
  config: ProjectorConfig,
): Engine {
  const { TOPIC_PREFIX: prefix, TOMBSTONE_DAYS: tombstoneDays } = config;
  const shareBytes = shareOf(config.DEAD_LETTER_MEGABYTES_MAX, topicsOf(prefix));
  return {
    shares: createByteShares(() => measureBytes(control), shareBytes),
    control,
    generation,
    now,
    store: mongoStore(database),
    prefix,
    tombstoneDays,
    isApplied: (kind, { partition, offset }) =>
      positions.isApplied(partitionKey({ topic: topicOf(kind, prefix), partition }), offset),
    onNotRefreshed: (kind, id, reason, error) => {
      metrics.notRefreshed.inc({ kind });
      if (error === undefined) logger.error({ kind, id, reason }, 'a document is not refreshed');
      else
        logger.error(
          { kind, id, reason, thrown: thrownPlaces(error) },
          'the code throws at the refresh of a document',
        );
    },
    onUnreadable: (kind, id, field) =>
      logger.warn({ kind, id, field }, 'the envelope of a document cannot be read; it is replaced'),
    onStalled: (stall) => logger.warn(stall, 'documents are written again and again without progress'),
    onProjectorError: ({ topic, partition, offset }, reason, error) =>
      logger.error(
        { topic, partition, offset, reason, thrown: thrownPlaces(error) },
        'the code throws for a record, which becomes a dead letter',
      ),
    onRepeated: (kind, cause, documents) => metrics.repeated.inc({ kind, cause }, documents),
  };
}
