import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Admin, Producer } from 'kafkajs';
import type { MongoClient } from 'mongodb';
import { pino } from 'pino';
import { generate } from 'selfsigned';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { projectorConfig } from '../../services/projector/config.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { createKafka } from '../../services/projector/kafka/client.ts';
import { endOffsets, recordedPositions } from '../../services/projector/consumer/progress.ts';
import { estimateDocuments } from '../../services/operations/counts.ts';
import { kinds } from '../../shared/documents/document.ts';
import { controlDatabase, createMongo, generationDatabase } from '../../shared/store/connection.ts';
import { activeGeneration, groupIdOf } from '../../shared/control/generations.ts';
import type { Stack } from '../dev-servers/provider.ts';

const partitions = 3;
/** The generations that a demo can have: the first, and the one of `--rebuild`. */
const generations = [1, 2];

/** The demo's connections, and the settings of its services. */
export type Connections = {
  environment: Record<string, string>;
  prefix: string;
  name: string;
  topics: string[];
  admin: Admin;
  producer: Producer;
  mongo: MongoClient;
  close: () => Promise<void>;
};

/**
 * Connects to the servers and creates the topics. On servers from the environment, topics and databases get a unique
 * name and are removed at the end.
 */
export async function connect({ kafkaBrokers, mongodbUrl, how }: Stack): Promise<Connections> {
  const isShared = how === 'environment';
  const name = isShared ? `demo-${randomBytes(4).toString('hex')}` : 'support';
  const prefix = `${name}.`;
  // Settings of the connection to Kafka; others could change the behaviour of a service.
  const given = Object.entries(process.env).filter(([key]) => isShared && key.startsWith('KAFKA_'));
  const environment: Record<string, string> = {
    ...(Object.fromEntries(given) as Record<string, string>),
    KAFKAJS_NO_PARTITIONER_WARNING: '1',
    KAFKA_BROKERS: kafkaBrokers,
    MONGODB_URL: mongodbUrl,
    DATABASE_NAME: name,
    TOPIC_PREFIX: prefix,
    CONSUMER_GROUP: `${name}-read-models`,
  };
  const read = projectorConfig(environment);
  if ('errors' in read) throw new Error(read.errors.join('\n'));
  const kafka = createKafka(read.config, pino({ level: 'silent' }));
  const [admin, producer] = [kafka.admin(), kafka.producer({ allowAutoTopicCreation: false })];
  const mongo = createMongo(mongodbUrl, 'demo');
  await Promise.all([admin.connect(), producer.connect()]);
  await createTopics(admin, prefix, { partitions: partitions });
  const topics = kinds.map((kind) => topicOf(kind, prefix));
  const close = async () => {
    if (isShared) {
      await admin.deleteTopics({ topics });
      await controlDatabase(mongo, name).dropDatabase();
      for (const generation of generations) {
        await generationDatabase(mongo, name, generation).dropDatabase();
        // The group does not exist if no projector has joined it.
        await admin.deleteGroups([groupIdOf(read.config, generation)]).catch(() => undefined);
      }
    }
    await Promise.allSettled([producer.disconnect(), admin.disconnect(), mongo.close()]);
  };
  return { environment, prefix, name, topics, admin, producer, mongo, close };
}

/** The records in Kafka, those that the active generation has not applied yet, and an estimate of its documents. */
export async function readProgress({ admin, mongo, name, topics }: Connections) {
  const control = controlDatabase(mongo, name);
  const generation = (await activeGeneration(control))?.generation ?? 1;
  const [ends, positions, documents] = await Promise.all([
    endOffsets(admin, topics),
    recordedPositions(control, generation),
    estimateDocuments(generationDatabase(mongo, name, generation)),
  ]);
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
  return {
    records: sum([...ends.values()].map(({ end }) => end)),
    lag: sum([...ends].map(([key, { end }]) => Math.max(0, end - (positions.get(key) ?? 0)))),
    documents: sum(Object.values(documents)),
  };
}

/** Writes a certificate for `localhost`, which clients trust by its file, and its key. */
export async function createCertificate(folder: string) {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
  });
  const settings = { API_TLS_CERT: join(folder, 'server.pem'), API_TLS_KEY: join(folder, 'server-key.pem') };
  await writeFile(settings.API_TLS_CERT, cert);
  await writeFile(settings.API_TLS_KEY, key, { mode: 0o600 });
  return { certificate: settings.API_TLS_CERT, settings };
}
