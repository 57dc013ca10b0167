import { randomBytes } from 'node:crypto';
import { Kafka, logLevel, type Admin, type Producer } from 'kafkajs';
import type { Db, MongoClient } from 'mongodb';
import type { Stack } from '../../../infra/dev-servers/provider.ts';
import { kinds } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { controlDatabase, createMongo, generationDatabase } from '../../../shared/store/connection.ts';
import { storeProcessorTime } from '../processor-time.ts';

/** The servers of every contender, and the benchmark's clients of them. */
export type BenchEnvironment = {
  kafkaBrokers: string;
  mongodbUrl: string;
  /** The prefix of the benchmark's topics. */
  prefix: string;
  admin: Admin;
  producer: Producer;
  mongo: MongoClient;
  /** Processor time of the store so far, in seconds; null if it is unknown. */
  storeSeconds: () => number | null;
  /** The folder for logs and settings of processes. */
  dataDir: string;
};

/** Connects to the servers, and deletes the topics under the prefix afterwards. */
export async function withEnvironment<T>(
  stack: Pick<Stack, 'kafkaBrokers' | 'mongodbUrl' | 'native'>,
  dataDir: string,
  work: (environment: BenchEnvironment) => Promise<T>,
): Promise<T> {
  const { kafkaBrokers, mongodbUrl } = stack;
  process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1';
  const kafka = new Kafka({ brokers: kafkaBrokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  const mongo = createMongo(mongodbUrl, 'bench');
  const prefix = `${uniqueName()}.`;
  await Promise.all([admin.connect(), producer.connect()]);
  try {
    const storeSeconds = storeProcessorTime(stack);
    return await work({ kafkaBrokers, mongodbUrl, prefix, admin, producer, mongo, storeSeconds, dataDir });
  } finally {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
    if (topics.length > 0) await admin.deleteTopics({ topics });
    await Promise.all([admin.disconnect(), producer.disconnect(), mongo.close()]);
  }
}

/** The databases and consumer group of one run. */
export type Scratch = { name: string; control: Db; database: Db };

const uniqueName = (): string => `bench_${randomBytes(5).toString('hex')}`;

/** Passes `work` an empty database and an unused group, and removes both afterwards. */
export async function withScratch<T>(
  { mongo, admin }: Pick<BenchEnvironment, 'mongo' | 'admin'>,
  work: (scratch: Scratch) => Promise<T>,
): Promise<T> {
  const name = uniqueName();
  const [control, database] = [controlDatabase(mongo, name), generationDatabase(mongo, name, 1)];
  try {
    return await work({ name, control, database });
  } finally {
    await control.dropDatabase();
    await database.dropDatabase();
    // A group with killed members is not empty yet; it expires by itself.
    await admin.deleteGroups([name]).catch(() => undefined);
  }
}

/** The number of documents in the database. */
export async function documentsIn(database: Db): Promise<number> {
  const counts = await Promise.all(
    kinds.map((kind) => database.collection(resources[kind].collection).countDocuments()),
  );
  return counts.reduce((total, count) => total + count, 0);
}
