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
export function createEngine(deps: EngineDeps, config: ProjectorConfig): Engine {
  const { control, positions } = deps;
  const prefix = config.TOPIC_PREFIX;
  const shareBytes = shareOf(config.DEAD_LETTER_MEGABYTES_MAX, topicsOf(prefix));
  return {
    control,
    generation: deps.generation,
    now: deps.now,
    store: mongoStore(deps.database),
    shares: createByteShares(() => measureBytes(control), shareBytes),
    prefix,
    tombstoneDays: config.TOMBSTONE_DAYS,
    isApplied: (kind, { partition, offset }) => {
      const key = partitionKey({ topic: topicOf(kind, prefix), partition });
      return positions.isApplied(key, offset);
    },
    ...createReports(deps.metrics, deps.logger),
  };
}

type Reports = Pick<
  Engine,
  'onNotRefreshed' | 'onUnreadable' | 'onStalled' | 'onProjectorError' | 'onRepeated'
>;

/** Returns the functions that the engine calls for documents and records that it cannot handle as usual. */
const createReports = (metrics: Metrics, logger: Logger): Reports => ({
  onNotRefreshed: (kind, id, reason, error) => {
    metrics.notRefreshed.inc({ kind });
    if (error === undefined) {
      logger.error({ kind, id, reason }, 'a document is not refreshed');
      return;
    }
    const thrown = thrownPlaces(error);
    logger.error({ kind, id, reason, thrown }, 'the code throws at the refresh of a document');
  },
  onUnreadable: (kind, id, field) =>
    logger.warn({ kind, id, field }, 'the envelope of a document cannot be read; it is replaced'),
  onStalled: (stall) => logger.warn(stall, 'documents are written again and again without progress'),
  onProjectorError: ({ topic, partition, offset }, reason, error) => {
    const thrown = thrownPlaces(error);
    logger.error(
      { topic, partition, offset, reason, thrown },
      'the code throws for a record, which becomes a dead letter',
    );
  },
  onRepeated: (kind, cause, documents) => metrics.repeated.inc({ kind, cause }, documents),
});
