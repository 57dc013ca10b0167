import type { Admin } from 'kafkajs';
import type { Db, MongoClient } from 'mongodb';
import { kinds, notRefreshedIndex, type Kind } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { activeGeneration, progressOf, watermark } from '../../../shared/store/generations.ts';
import { collectionOf, controlDatabase, generationDatabase } from '../../../shared/store/connection.ts';
import { endOffsets } from '../../projector/consumer/progress.ts';
import { deadLettersOf } from '../../projector/dead-letters/collection.ts';
import { topicOf } from '../../projector/events/topics.ts';
import type { StoredDocument } from '../../projector/materialize/store.ts';
import { readTopicSettings, topicWarnings } from './topic-settings.ts';

/** What `cli status` tells. Offsets and counts are whole numbers, instants ISO 8601. */
export type Status = {
  generation: number | null;
  watermark: string | null;
  partitions: { topic: string; partition: number; position: number; end: number; lag: number }[];
  documents: Record<string, number>;
  /** Conversations whose channel is missing, and tickets that conversations name whose own state is missing. */
  pending: { conversations: number; tickets: number };
  deadLetters: number;
  /** Documents that show an older state of what they refer to, as the store refused a newer one, by collection. */
  notRefreshed: Record<string, number>;
  /** Topics that a rebuild cannot rely on, a sentence each. */
  warnings: string[];
};

export async function readStatus(deps: {
  admin: Admin;
  mongo: MongoClient;
  config: { DATABASE_NAME: string; TOPIC_PREFIX: string; REBUILD_DAYS_MAX: number };
}): Promise<Status> {
  const { admin, mongo, config } = deps;
  const control = controlDatabase(mongo, config.DATABASE_NAME);
  const generation = await activeGeneration(control);
  const database = generationDatabase(mongo, config.DATABASE_NAME, generation ?? 1);
  const present = new Set(await admin.listTopics());
  const topics = kinds
    .map((kind) => topicOf(kind, config.TOPIC_PREFIX))
    .filter((topic) => present.has(topic));
  const [partitions, warnings, documents, pending, deadLetters, completeTo, notRefreshed] = await Promise.all(
    [
      readPartitions(admin, control, topics, generation ?? 1),
      readWarnings(admin, topics, config.REBUILD_DAYS_MAX),
      countDocuments(database),
      countPending(database),
      deadLettersOf(control).countDocuments(),
      generation === null ? null : watermark(control, generation),
      countNotRefreshed(database),
    ],
  );
  return {
    generation,
    watermark: completeTo?.toISOString() ?? null,
    partitions,
    documents,
    pending,
    deadLetters,
    notRefreshed,
    warnings,
  };
}

/** A user who may not read the configuration of topics still gets the rest of the status. */
async function readWarnings(admin: Admin, topics: string[], rebuildDaysMax: number): Promise<string[]> {
  try {
    return topicWarnings(await readTopicSettings(admin, topics), rebuildDaysMax);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [`the configuration of the topics cannot be read (DescribeConfigs): ${reason}`];
  }
}

async function readPartitions(admin: Admin, control: Db, topics: string[], generation: number) {
  const ends = await endOffsets(admin, topics);
  const progress = await progressOf(control).find({ generation }).toArray();
  const positions = new Map(
    progress.map(({ topic, partition, position }) => [`${topic}/${partition}`, position]),
  );
  return [...ends]
    .map(([key, { end }]) => {
      const cut = key.lastIndexOf('/');
      const position = positions.get(key) ?? 0;
      const lag = Math.max(0, end - position);
      return { topic: key.slice(0, cut), partition: Number(key.slice(cut + 1)), position, end, lag };
    })
    .sort((a, b) => a.topic.localeCompare(b.topic) || a.partition - b.partition);
}

async function countDocuments(database: Db): Promise<Record<string, number>> {
  const living = async (kind: Kind): Promise<[string, number]> => {
    const collection = collectionOf(database, kind);
    const count = await collection.countDocuments({ state: { $exists: true } });
    return [resources[kind].collection, count];
  };
  return Object.fromEntries(await Promise.all(kinds.map(living)));
}

async function countNotRefreshed(database: Db): Promise<Status['notRefreshed']> {
  const referring = kinds.filter((kind) => resources[kind].indexes.includes(notRefreshedIndex));
  const count = async (kind: Kind): Promise<[string, number]> => [
    resources[kind].collection,
    await collectionOf<StoredDocument>(database, kind).countDocuments({ notRefreshedAt: { $exists: true } }),
  ];
  const counts = await Promise.all(referring.map(count));
  return Object.fromEntries(counts.filter(([, number]) => number > 0));
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
