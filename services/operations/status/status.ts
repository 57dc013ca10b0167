import { errorMessage } from '../../../shared/runtime/error-message.ts';
import type { Admin } from 'kafkajs';
import { MongoServerError, type Db, type MongoClient } from 'mongodb';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { storeTime } from '../../../shared/store/clock.ts';
import { generationOf, readRegistry } from '../../../shared/control/generations.ts';
import { watermark } from '../../../shared/control/progress.ts';
import { collectionOf, controlDatabase, generationDatabase } from '../../../shared/store/connection.ts';
import { recordedPositions } from '../../projector/consumer/progress.ts';
import { deadLettersOf } from '../../../shared/control/dead-letters.ts';
import { topicOf } from '../../projector/events/topics.ts';
import { tombstoneBound, tombstoneWarning } from '../../projector/generations/tombstones.ts';
import type { LogClient } from '../../projector/kafka/log-client.ts';
import { parsePartitionKey } from '../../../shared/control/topic-partition.ts';
import {
  readTopicSettings,
  topicWarnings,
  type TopicSettings,
} from '../../projector/kafka/topic-settings.ts';

/** The output of `cli status`. Offsets and counts are whole numbers, instants ISO 8601. */
export type Status = {
  generation: number | null;
  watermark: string | null;
  /** `end` and `lag` are null if no leader of the partition answers. */
  partitions: {
    topic: string;
    partition: number;
    position: number;
    end: number | null;
    lag: number | null;
  }[];
  /** Estimates by collection, tombstones included. */
  documents: Record<string, number>;
  /**
   * Conversations whose channel is missing, counted up to `countMax`; missing tickets that conversations refer to, null
   * if they cannot be counted in time.
   */
  pending: { conversations: number; tickets: number | null };
  /** Counted up to `countMax`. */
  deadLetters: number;
  /** One sentence for each topic whose settings make a rebuild unsafe, and one if tombstones may have been missed. */
  warnings: string[];
};

/** Dead letters and pending conversations are counted up to this number, so that a count is short. */
export const countMax = 10_000;

/** MongoDB may search for missing tickets for this long, in milliseconds. No index lists them. */
const ticketsTimeoutMs = 500;

/** Reads the status. MongoDB scans no collection, so its work does not grow with the data. */
export async function readStatus(deps: {
  admin: Admin;
  log: Pick<LogClient, 'read'>;
  mongo: MongoClient;
  config: { DATABASE_NAME: string; TOPIC_PREFIX: string; REBUILD_DAYS_MAX: number };
}): Promise<Status> {
  const { admin, log, mongo, config } = deps;
  const control = controlDatabase(mongo, config.DATABASE_NAME);
  const registry = await readRegistry(control);
  const generation = registry?.generation ?? null;
  const completeTo = generation === null ? null : await watermark(control, generation);
  const now = await storeTime(control);
  const database = generationDatabase(mongo, config.DATABASE_NAME, generation ?? 1);
  const present = new Set(await admin.listTopics());
  const topics = kinds
    .map((kind) => topicOf(kind, config.TOPIC_PREFIX))
    .filter((topic) => present.has(topic));
  const warningsOf = (settings: TopicSettings[]) => [
    ...topicWarnings(settings, config.REBUILD_DAYS_MAX),
    ...(registry
      ? [
          tombstoneWarning(
            generationOf(registry, registry.generation),
            completeTo,
            tombstoneBound(settings),
            now,
          ),
        ]
      : []),
  ];
  const [partitions, warnings, documents, conversations, tickets, deadLetters] = await Promise.all([
    readPartitions(log, control, topics, generation ?? 1),
    readWarnings(admin, topics, warningsOf),
    estimateDocuments(database),
    collectionOf(database, 'conversation').countDocuments({ pending: true }, { limit: countMax }),
    countMissingTickets(database),
    deadLettersOf(control).countDocuments({}, { limit: countMax }),
  ]);
  return {
    generation,
    watermark: completeTo?.toISOString() ?? null,
    partitions,
    documents,
    pending: { conversations, tickets },
    deadLetters,
    warnings,
  };
}

/** If the Kafka user may not read topic configurations, the rest of the status is still printed. */
async function readWarnings(
  admin: Admin,
  topics: string[],
  warningsOf: (settings: TopicSettings[]) => (string | null)[],
): Promise<string[]> {
  try {
    return warningsOf(await readTopicSettings(admin, topics)).filter((warning) => warning !== null);
  } catch (error) {
    const reason = errorMessage(error);
    return [`cannot read the configuration of the topics; the Kafka user needs DescribeConfigs: ${reason}`];
  }
}

/**
 * The position, log end and lag of each partition, in the order of topics and partitions. A partition with a position
 * is included even if no broker that answers knows it.
 */
async function readPartitions(
  log: Pick<LogClient, 'read'>,
  control: Db,
  topics: string[],
  generation: number,
): Promise<Status['partitions']> {
  const { partitions, ends } = await log.read(topics);
  const positions = await recordedPositions(control, generation);
  return [...new Set([...partitions, ...positions.keys()])]
    .map((key) => {
      const position = positions.get(key) ?? 0;
      const end = ends.get(key)?.end ?? null;
      return {
        ...parsePartitionKey(key),
        position,
        end,
        lag: end === null ? null : Math.max(0, end - position),
      };
    })
    .filter(({ topic }) => topics.includes(topic))
    .sort((a, b) => a.topic.localeCompare(b.topic) || a.partition - b.partition);
}

/** Estimates by collection, tombstones included. */
export async function estimateDocuments(database: Db): Promise<Record<string, number>> {
  const estimate = async (kind: Kind): Promise<[string, number]> => [
    resources[kind].collection,
    await collectionOf(database, kind).estimatedDocumentCount(),
  ];
  return Object.fromEntries(await Promise.all(kinds.map(estimate)));
}

/** Both stages before the look-up read the index on tickets alone. */
async function countMissingTickets(database: Db): Promise<number | null> {
  const stages = [
    { $match: { 'state.ticketId': { $gt: '' } } },
    { $group: { _id: '$state.ticketId' } },
    { $lookup: { from: resources.ticket.collection, localField: '_id', foreignField: '_id', as: 'ticket' } },
    { $match: { 'ticket.state': { $exists: false } } },
    { $count: 'tickets' },
  ];
  const found = await collectionOf(database, 'conversation')
    .aggregate<{ tickets: number }>(stages, { maxTimeMS: ticketsTimeoutMs })
    .toArray()
    .catch((error: unknown) => {
      if (error instanceof MongoServerError && error.code === maxTimeExpired) return null;
      throw error;
    });
  return found && (found[0]?.tickets ?? 0);
}

/** MongoDB's code for an operation that `maxTimeMS` ended. */
const maxTimeExpired = 50;
