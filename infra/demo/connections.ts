import { randomBytes } from 'node:crypto';
import type { Admin, Producer } from 'kafkajs';
import { pino } from 'pino';
import { kinds } from '../../shared/documents/document.ts';
import type { Environment } from '../../shared/runtime/config.ts';
import { controlDatabase, createMongo, generationDatabase } from '../../shared/store/connection.ts';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { projectorConfig } from '../../services/projector/config.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { createKafka } from '../../services/projector/kafka/client.ts';
import { groupIdOf } from '../../shared/control/generations.ts';
import type { Stack } from '../dev-servers/provider.ts';

const partitions = 3;
/** The generations that a demo can have: the first, and the one of `--rebuild`. */
const generations = [1, 2];

/** The demo's connections, and the environment variables of its services. */
export type DemoConnections = {
  environment: Record<string, string>;
  prefix: string;
  databaseName: string;
  topics: string[];
  admin: Admin;
  producer: Producer;
  mongo: ReturnType<typeof createMongo>;
  close: () => Promise<void>;
};

/**
 * Connects to the servers and creates the topics. On servers from the environment, topics and databases get a unique
 * name and are removed at the end.
 */
export async function connectDemo({ kafkaBrokers, mongodbUrl, how }: Stack): Promise<DemoConnections> {
  const shared = how === 'environment';
  const name = shared ? `demo-${randomBytes(4).toString('hex')}` : 'support';
  const prefix = `${name}.`;
  const environment: Record<string, string> = {
    ...inherited(shared ? /^KAFKA_/ : null),
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
  const admin = kafka.admin();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  const mongo = createMongo(mongodbUrl, 'demo');
  await Promise.all([admin.connect(), producer.connect()]);
  await createTopics(admin, prefix, partitions);
  const topics = kinds.map((kind) => topicOf(kind, prefix));
  const close = async () => {
    if (shared) {
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
  return { environment, prefix, databaseName: name, topics, admin, producer, mongo, close };
}

/** The variables that a service inherits, and those that match. Others could change its behaviour. */
function inherited(pattern: RegExp | null, environment: Environment = process.env): Record<string, string> {
  const names = Object.keys(environment).filter(
    (name) => ['PATH', 'HOME', 'TMPDIR'].includes(name) || pattern?.test(name),
  );
  return Object.fromEntries(names.map((name) => [name, environment[name] ?? '']));
}
