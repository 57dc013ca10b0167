import type { Admin } from 'kafkajs';
import type { Db, MongoClient } from 'mongodb';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { activeGeneration, progressOf, watermark } from '../../../shared/runtime/generation.ts';
import { collectionOf, controlDatabase, generationDatabase } from '../../../shared/runtime/mongo.ts';
import { endOffsets } from '../../projector/consume/progress.ts';
import { deadLettersOf } from '../../projector/dead-letters/dead-letters.ts';
import { topicOf } from '../../projector/events/topics.ts';

/** What `cli status` tells. Offsets and counts are whole numbers, instants ISO 8601. */
export type Status = {
  generation: number | null;
  watermark: string | null;
  partitions: { topic: string; partition: number; position: number; end: number; lag: number }[];
  documents: Record<string, number>;
  /** Conversations whose channel is missing, and tickets that conversations name whose own state is missing. */
  pending: { conversations: number; tickets: number };
  deadLetters: number;
};

export async function readStatus(deps: {
  admin: Admin;
  mongo: MongoClient;
  config: { DATABASE_NAME: string; TOPIC_PREFIX: string };
}): Promise<Status> {
  const { admin, mongo, config } = deps;
  const control = controlDatabase(mongo, config.DATABASE_NAME);
  const generation = await activeGeneration(control);
  const database = generationDatabase(mongo, config.DATABASE_NAME, generation ?? 1);
  const [partitions, documents, pending, deadLetters, completeTo] = await Promise.all([
    readPartitions(admin, control, config.TOPIC_PREFIX, generation ?? 1),
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
  };
}

async function readPartitions(admin: Admin, control: Db, prefix: string, generation: number) {
  const present = new Set(await admin.listTopics());
  const topics = kinds.map((kind) => topicOf(kind, prefix)).filter((topic) => present.has(topic));
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
    const count = await collection.countDocuments({ deletedAt: { $exists: false } });
    return [resources[kind].collection, count];
  };
  return Object.fromEntries(await Promise.all(kinds.map(living)));
}

async function countPending(database: Db): Promise<Status['pending']> {
  const conversations = collectionOf(database, 'conversation');
  const orphaned = await conversations
    .aggregate<{ tickets: number }>([
      { $match: { 'own.ticketId': { $exists: true } } },
      { $group: { _id: '$own.ticketId' } },
      {
        $lookup: { from: resources.ticket.collection, localField: '_id', foreignField: '_id', as: 'ticket' },
      },
      { $match: { 'ticket.own': { $exists: false } } },
      { $count: 'tickets' },
    ])
    .toArray();
  return {
    conversations: await conversations.countDocuments({ pending: true }),
    tickets: orphaned[0]?.tickets ?? 0,
  };
}
