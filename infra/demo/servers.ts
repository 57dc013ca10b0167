import { randomBytes } from 'node:crypto';
import type { MongoClient } from 'mongodb';
import { estimateDocuments } from '../../services/operations/counts.ts';
import { readSavedPositions } from '../../services/projector/progress/progress.ts';
import { activeGeneration } from '../../shared/control/generations.ts';
import { controlDatabase, createMongo, generationDatabase } from '../../shared/store/connection.ts';
import type { Stack } from '../dev-servers/provider.ts';
import { connectKafka, endOffsets, type KafkaConnection } from '../sample-data/publish.ts';

/** The demo's connections, and the settings of its services. */
export type Connections = KafkaConnection & {
  /** The settings of the services. */
  environment: Record<string, string>;
  /** The name of the database, and the beginning of the topics' names. */
  name: string;
  mongo: MongoClient;
  /** Removes the demo's topics and databases from servers that the environment names, then disconnects. */
  close: () => Promise<void>;
};

/**
 * Connects to the servers and creates the topics. On a server from the environment, topics and databases get a unique
 * name and are removed at the end.
 */
export async function connect({ kafkaBrokers, mongodbUrl, how }: Stack): Promise<Connections> {
  const isShared = Object.values(how).includes('environment');
  const name = isShared ? `demo-${randomBytes(4).toString('hex')}` : 'support';
  const environment: Record<string, string> = {
    ...(how.kafka === 'environment' ? kafkaSettings() : {}),
    KAFKAJS_NO_PARTITIONER_WARNING: '1',
    KAFKA_BROKERS: kafkaBrokers,
    MONGODB_URL: mongodbUrl,
    DATABASE_NAME: name,
    TOPIC_PREFIX: `${name}.`,
    CONSUMER_GROUP: `${name}-read-models`,
  };
  const kafka = await connectKafka(environment);
  const { admin, topics } = kafka;
  await kafka.create();
  const mongo = createMongo(mongodbUrl, 'demo');
  const close = async () => {
    if (isShared) {
      const isOwn = (text: string) => text.startsWith(name);
      await admin.deleteTopics({ topics });
      const { databases } = await mongo.db().admin().listDatabases({ nameOnly: true });
      for (const database of databases) {
        if (isOwn(database.name)) await mongo.db(database.name).dropDatabase();
      }
      // Kafka refuses to delete the group of a killed projector, which still has members for a while.
      const groups = (await admin.listGroups()).groups.map(({ groupId }) => groupId).filter(isOwn);
      await admin.deleteGroups(groups).catch(() => undefined);
    }
    await Promise.all([kafka.close(), mongo.close()]);
  };
  return { ...kafka, environment, name, mongo, close };
}

/** The settings of the connection to Kafka in the environment. Other settings could change how a service works. */
function kafkaSettings(): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && name.startsWith('KAFKA_')) settings[name] = value;
  }
  return settings;
}

/** The records in Kafka, the part that the active generation has not applied yet, and an estimate of its documents. */
export async function readProgress({ admin, mongo, name, topics }: Connections) {
  const control = controlDatabase(mongo, name);
  const generation = (await activeGeneration(control))?.generation ?? 1;
  const [ends, positions, documents] = await Promise.all([
    endOffsets(admin, topics),
    readSavedPositions(control, generation),
    estimateDocuments(generationDatabase(mongo, name, generation)),
  ]);
  const progress = { records: 0, lag: 0, documents: 0 };
  for (const [key, end] of ends) {
    progress.records += end;
    progress.lag += Math.max(0, end - (positions.get(key) ?? 0));
  }
  for (const count of Object.values(documents)) progress.documents += count;
  return progress;
}
