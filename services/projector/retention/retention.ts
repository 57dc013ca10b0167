import type { Db } from 'mongodb';
import type { LogClient } from '../../../shared/kafka/log-client.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Repeating } from '../../../shared/runtime/repeat.ts';
import type { Announcement } from '../announce-projector.ts';
import type { ProjectorConfig } from '../config.ts';
import { forgetPurged } from '../dead-letters/forget-purged.ts';
import type { Engine } from '../engine.ts';
import type { Metrics } from '../metrics.ts';
import type { AssignedPartitions } from '../partition/assigned-partitions.ts';
import { mongoSweepStore } from './mongo-sweep-store.ts';
import { ownsSweep, startSweeper } from './sweeper.ts';

type RetentionDeps = {
  /** The documents of the generation. */
  database: Db;
  engine: Engine;
  log: Pick<LogClient, 'read'>;
  consumer: Pick<AssignedPartitions, 'snapshot'>;
  topics: string[];
  announcement: Pick<Announcement, 'set'>;
  metrics: Metrics;
  logger: Logger;
};

/** Starts the sweeper on the documents that the engine writes. */
export function startRetention(
  { database, engine, log, consumer, topics, announcement, metrics, logger }: RetentionDeps,
  { TOPIC_PREFIX: prefix }: ProjectorConfig,
): Repeating {
  const { control, now } = engine;
  return startSweeper({
    ...engine,
    sweepStore: mongoSweepStore({ control, database, prefix, now }),
    forgetPurged: () => forgetPurged(control, log, topics),
    isOwner: () => ownsSweep(consumer.snapshot(), prefix),
    announceSweep: (sweep) => announcement.set({ duties: { sweep } }),
    metrics,
    logger,
  });
}
