import { errorMessage } from '../../../shared/runtime/error-message.ts';
import type { Admin } from 'kafkajs';
import type { Db, MongoClient } from 'mongodb';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { readRegistry } from '../../../shared/store/generations.ts';
import { watermark } from '../../../shared/store/progress.ts';
import { collectionOf, controlDatabase, generationDatabase } from '../../../shared/store/connection.ts';
import { endOffsets, recordedPositions } from '../../projector/consumer/progress.ts';
import { deadLettersOf } from '../../projector/dead-letters/collection.ts';
import { topicOf } from '../../projector/events/topics.ts';
import { parsePartitionKey } from '../../projector/kafka/topic-partition.ts';
import { readTopicSettings, topicWarnings } from '../../projector/kafka/topic-settings.ts';

/** The output of `cli status`. Offsets and counts are whole numbers, instants ISO 8601. */
export type Status = {
  generation: number | null;
  watermark: string | null;
  partitions: { topic: string; partition: number; position: number; end: number; lag: number }[];
  documents: Record<string, number>;
  /** Conversations whose channel is missing; missing tickets that conversations refer to. */
  pending: { conversations: number; tickets: number };
  deadLetters: number;
  /** One sentence for each topic whose settings make a rebuild unsafe. */
  warnings: string[];
};

export async function readStatus(deps: {
  admin: Admin;
  mongo: MongoClient;
  config: { DATABASE_NAME: string; TOPIC_PREFIX: string; REBUILD_DAYS_MAX: number };
}): Promise<Status> {
  const { admin, mongo, config } = deps;
  const control = controlDatabase(mongo, config.DATABASE_NAME);
  const generation = (await readRegistry(control))?.generation ?? null;
  const database = generationDatabase(mongo, config.DATABASE_NAME, generation ?? 1);
  const present = new Set(await admin.listTopics());
  const topics = kinds
    .map((kind) => topicOf(kind, config.TOPIC_PREFIX))
    .filter((topic) => present.has(topic));
  const [partitions, warnings, documents, pending, deadLetters, completeTo] = await Promise.all([
    readPartitions(admin, control, topics, generation ?? 1),
    readWarnings(admin, topics, config.REBUILD_DAYS_MAX),
    countDocuments(database),
    countPending(database),
    deadLettersOf(control).countDocuments(),
    generation === null ? null : watermark(control, generation),
  ]);
  return {
    generation,
    watermark: completeTo?.toISOString() ?? null,
    partitions,
    documents,
    pending,
    deadLetters,
    warnings,
  };
}

/** If the Kafka user may not read topic configurations, the rest of the status is still printed. */
async function readWarnings(admin: Admin, topics: string[], rebuildDaysMax: number): Promise<string[]> {
  try {
    return topicWarnings(await readTopicSettings(admin, topics), rebuildDaysMax);
  } catch (error) {
    const reason = errorMessage(error);
    return [`cannot read the configuration of the topics; the Kafka user needs DescribeConfigs: ${reason}`];
  }
}

async function readPartitions(admin: Admin, control: Db, topics: string[], generation: number) {
  const ends = await endOffsets(admin, topics);
  const positions = await recordedPositions(control, generation);
  return [...ends]
    .map(([key, { end }]) => {
      const position = positions.get(key) ?? 0;
      const lag = Math.max(0, end - position);
      return { ...parsePartitionKey(key), position, end, lag };
    })
    .sort((a, b) => a.topic.localeCompare(b.topic) || a.partition - b.partition);
}

async function countDocuments(database: Db): Promise<Record<string, number>> {
  const countPresent = async (kind: Kind): Promise<[string, number]> => {
    const collection = collectionOf(database, kind);
    const count = await collection.countDocuments({ state: { $exists: true } });
    return [resources[kind].collection, count];
  };
  return Object.fromEntries(await Promise.all(kinds.map(countPresent)));
}

async function countPending(database: Db): Promise<Status['pending']> {
  const conversations = collectionOf(database, 'conversation');
  const orphaned = await conversations
    .aggregate<{ tickets: number }>([
      { $match: { 'state.ticketId': { $exists: true } } },
      { $group: { _id: '$state.ticketId' } },
      {
        $lookup: { from: resources.ticket.collection, localField: '_id', foreignField: '_id', as: 'ticket' },
      },
      { $match: { 'ticket.state': { $exists: false } } },
      { $count: 'tickets' },
    ])
    .toArray();
  return {
    conversations: await conversations.countDocuments({ pending: true }),
    tickets: orphaned[0]?.tickets ?? 0,
  };
}
