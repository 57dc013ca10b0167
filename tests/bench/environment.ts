import { randomBytes } from 'node:crypto';
import { availableParallelism, totalmem } from 'node:os';
import type { Db, MongoClient } from 'mongodb';
import { kafkaVersion } from '../../infra/dev-servers/native/kafka-settings.ts';
import { startStack } from '../../infra/dev-servers/stack.ts';
import { temporaryFolder } from '../../infra/dev-servers/temporary-folder.ts';
import { connectKafka } from '../../infra/sample-data/publish.ts';
import { kinds } from '../../shared/documents/resources.ts';
import {
  collectionOf,
  controlDatabase,
  createMongo,
  generationDatabase,
} from '../../shared/store/connection.ts';

/** The servers of a benchmark, and the clients that the benchmark has connected to them. */
export type BenchEnvironment = Awaited<ReturnType<typeof connectKafka>> & {
  kafkaBrokers: string;
  mongodbUrl: string;
  /** The machine and its servers, in words. */
  machine: string;
  mongo: MongoClient;
  /** The folder for logs and settings of processes. */
  dataDir: string;
};

export const progress = (line: string) => process.stderr.write(`${line}\n`);

/**
 * Starts the servers for `work`, or uses the servers that the environment names. Removes its topics and its folder at
 * the end.
 */
export async function withEnvironment<T>(work: (environment: BenchEnvironment) => Promise<T>): Promise<T> {
  process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1';
  const { path: dataDir, remove } = await temporaryFolder('support-read-models-bench-');
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(remove);
  const stack = await startStack({ report: progress, dataDir });
  cleanUp.defer(() => stack.stop());
  const { kafkaBrokers, mongodbUrl } = stack;
  const settings = { KAFKA_BROKERS: kafkaBrokers, MONGODB_URL: mongodbUrl, TOPIC_PREFIX: `${uniqueName()}.` };
  const kafka = await connectKafka(settings);
  const mongo = createMongo(mongodbUrl, 'bench');
  cleanUp.defer(async () => {
    const topics = (await kafka.admin.listTopics()).filter((topic) => kafka.topics.includes(topic));
    if (topics.length > 0) await kafka.admin.deleteTopics({ topics });
    await Promise.all([kafka.close(), mongo.close()]);
  });
  // A Kafka from KAFKA_BROKERS does not report its version.
  const kafkaText =
    stack.how.kafka === 'environment' ? 'Kafka given by its address' : `Kafka ${kafkaVersion}`;
  const machine =
    `on ${availableParallelism()} cores with ${Math.round(totalmem() / 1024 ** 3)} GB of memory, shared with the ` +
    `servers: Node ${process.versions.node}, ${kafkaText}, ${stack.store}`;
  return await work({ ...kafka, kafkaBrokers, mongodbUrl, machine, mongo, dataDir });
}

const uniqueName = (): string => `bench_${randomBytes(5).toString('hex')}`;

/** Passes `work` an empty database and an unused group, and removes both afterwards. */
export async function withScratch<T>(
  { mongo, admin }: Pick<BenchEnvironment, 'mongo' | 'admin'>,
  work: (scratch: { name: string; control: Db; database: Db }) => Promise<T>,
): Promise<T> {
  const name = uniqueName();
  const control = controlDatabase(mongo, name);
  const database = generationDatabase(mongo, name, 1);
  try {
    return await work({ name, control, database });
  } finally {
    await control.dropDatabase();
    await database.dropDatabase();
    // Kafka refuses to delete a group whose members were killed a moment ago. Such a group expires later.
    await admin.deleteGroups([name]).catch(() => undefined);
  }
}

export async function countAllDocuments(database: Db): Promise<number> {
  const counts = await Promise.all(kinds.map((kind) => collectionOf(database, kind).countDocuments()));
  return counts.reduce((total, count) => total + count, 0);
}
