import type { Db } from 'mongodb';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Repeating } from '../../../shared/runtime/repeat.ts';
import type { Announcement } from '../announce-projector.ts';
import type { ProjectorConfig } from '../config.ts';
import type { Engine } from '../engine.ts';
import type { Metrics } from '../metrics.ts';
import type { AssignedPartitions } from '../partition/assigned-partitions.ts';
import { mongoSweepStore } from './mongo-sweep-store.ts';
import { ownsSweep, startSweeper } from './sweeper.ts';

type RetentionDeps = {
  /** The documents of the generation. */
  database: Db;
  engine: Engine;
  consumer: Pick<AssignedPartitions, 'snapshot'>;
  announcement: Pick<Announcement, 'set'>;
  metrics: Metrics;
  logger: Logger;
};

/** Starts the sweeper on the documents that the engine writes. */
export function startRetention(
  { database, engine, consumer, announcement, metrics, logger }: RetentionDeps,
  { TOPIC_PREFIX: prefix }: ProjectorConfig,
): Repeating {
  const { control, now } = engine;
  return startSweeper({
    ...engine,
    sweepStore: mongoSweepStore({ control, database, prefix, now }),
    isOwner: () => ownsSweep(consumer.snapshot(), prefix),
    announceSweep: (sweep) => announcement.set({ duties: { sweep } }),
    metrics,
    logger,
  });
}
