import { Argument, type Command } from '@commander-js/extra-typings';
import type { Db } from 'mongodb';
import { groupIdOf } from '../../shared/control/generations.ts';
import { readControlId } from '../../shared/control/control-id.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { replicasOf } from '../../shared/control/replicas.ts';
import { requireRegistry } from '../../shared/control/registry.ts';
import { configOrExit } from '../../shared/runtime/config.ts';
import { counted } from '../../shared/runtime/counted.ts';
import { collectionOf, generationDatabase, requireWritable } from '../../shared/store/connection.ts';
import { readApiConfig, type ApiConfig } from '../api/config.ts';
import { rateLimitStoreOf } from '../api/rate-limit/rate-limit-settings.ts';
import { connectRedisRateLimiter } from '../api/rate-limit/redis-rate-limiter.ts';
import { describeStrangers, readMembers } from '../../shared/kafka/group-members.ts';
import type { OwnMembership } from '../../shared/kafka/member-metadata.ts';
import { describeOtherTopics } from '../../shared/kafka/other-topics.ts';
import { explained } from '../../shared/kafka/remedies.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';
import { projectorConfig } from '../projector/config.ts';
import { configs } from './config.ts';
import {
  connectKafka,
  withMongo,
  type Accept,
  type Output,
  type Context,
  type KafkaConfig,
} from './context.ts';
import { example, jsonOption } from './options.ts';
import { output, type Json } from './output.ts';

const roles = ['projector', 'api', 'cli'] as const;
type Role = (typeof roles)[number];

export function addCheck(program: Command, accept: Accept): void {
  program
    .command('check')
    .description('connect to every server with the settings of a service, and say which setting is at fault')
    .addArgument(new Argument('[role]', 'whose settings the environment has').choices(roles).default('cli'))
    .addOption(jsonOption())
    .addHelpText('after', '\nRun it in the environment of that service. Exit code 1 if a line failed.')
    .addHelpText('after', example('check', 'check projector'))
    .action((role, options) => accept(check, { role, ...options }));
}

/** One server. `detail` names the setting and, after a failure, its reason. */
type Check = { name: string; isMet: boolean; detail: string };

type Line = (name: string, work: () => Promise<string>) => Promise<boolean>;

async function check(context: Context, options: Json & { role: Role }): Promise<Output> {
  const checks: Check[] = [];
  /** Adds a line, and returns whether it is well: those that build on it are left out otherwise. */
  const line: Line = async (name, work) => {
    const [isMet, detail] = await work().then(
      (good) => [true, good] as const,
      (error: unknown) => [false, explained(error)] as const,
    );
    checks.push({ name, isMet, detail });
    return isMet;
  };
  await checkers[options.role](line, context);
  const isWell = checks.every(({ isMet }) => isMet);
  const text = checks.map(
    ({ name, isMet, detail }) => `${(isMet ? 'ok' : 'FAILED').padEnd(8)}  ${name.padEnd(10)}  ${detail}\n`,
  );
  return output(options, checks, text.join(''), isWell ? 0 : 1);
}

/** Prints every invalid variable of the role, and exits, before anything is connected. */
const checkers: Record<Role, (line: Line, context: Context) => Promise<void>> = {
  projector: async (line, context) => {
    const config = configOrExit(projectorConfig(context.environment));
    const topics = topicsOf(config.TOPIC_PREFIX);
    let own: OwnMembership | null = null;
    const active = await checkMongo(line, context, config, async (control, _, activeGeneration) => {
      await requireWritable(progressOf(control));
      const generation = config.GENERATION ?? activeGeneration;
      const controlId = await readControlId(control);
      own = { followed: { controlId, database: config.DATABASE_NAME, generation }, topics };
      const recorded = await progressOf(control).find({ generation }).toArray();
      const otherTopics = describeOtherTopics(recorded, topics);
      if (otherTopics !== null) throw new Error(`generation ${generation}: ${otherTopics}`);
    });
    const groupId = groupIdOf(config, config.GENERATION ?? active);
    await checkKafka(line, context, config, { groupId, own });
  },
  api: async (line, context) => {
    const config = configOrExit(readApiConfig(context.environment));
    await checkMongo(line, context, config, async (control, database) => {
      await collectionOf(database, 'ticket').findOne();
      await requireWritable(replicasOf(control));
    });
    await checkRateLimitStore(line, config);
  },
  cli: async (line, context) => {
    const config = configs.everything(context.environment);
    await checkKafka(line, context, config, null);
    await checkMongo(line, context, config, () => Promise.resolve());
  },
};

/** The consumer group of a projector, and its membership; null if MongoDB does not answer. */
type Group = { groupId: string; own: OwnMembership | null };

async function checkKafka(line: Line, context: Context, config: KafkaConfig, group: Group | null) {
  const { clients, close } = connectKafka(context, config, config.KAFKA_BROKERS.length);
  const topics = topicsOf(config.TOPIC_PREFIX);
  try {
    const isConnected = await line('Kafka', async () => {
      const { brokers } = await (await clients).admin.describeCluster();
      return `KAFKA_BROKERS: ${counted(brokers.length, 'broker')}`;
    });
    if (!isConnected) return;
    const { admin } = await clients;
    const hasTopics = await line('topics', async () => {
      const present = new Set(await admin.listTopics());
      const missing = topics.filter((topic) => !present.has(topic));
      if (missing.length > 0)
        throw new Error(
          `${missing.join(', ')} are missing, or this user may not see them: check TOPIC_PREFIX`,
        );
      return `TOPIC_PREFIX: ${counted(topics.length, 'topic')} of ${config.TOPIC_PREFIX}`;
    });
    // kafkajs asks for a topic that does not exist again and again, even after its disconnect.
    if (hasTopics && group !== null)
      await line('group', async () => {
        const { groupId, own } = group;
        await admin.fetchOffsets({ groupId, topics });
        const strangers = own && describeStrangers(await readMembers(admin, groupId, own));
        if (strangers !== null) throw new Error(`${groupId} (CONSUMER_GROUP): ${strangers}`);
        return `CONSUMER_GROUP: may read the offsets of ${groupId}`;
      });
  } finally {
    await close();
  }
}

/** Returns the number of the active generation. */
async function checkMongo(
  line: Line,
  context: Context,
  config: { MONGODB_URL: string; DATABASE_NAME: string },
  use: (control: Db, database: Db, active: number) => Promise<unknown>,
): Promise<number> {
  // A projector begins with generation 1 if no other is active.
  let active = 1;
  const answers = await line('MongoDB', () =>
    withMongo(context, config, async ({ control }) => {
      await control.command({ ping: 1 });
      return 'MONGODB_URL: answers';
    }),
  );
  if (!answers) return active;
  await line('read model', () =>
    withMongo(context, config, async ({ mongo, control }) => {
      active = (await requireRegistry(control)).generation;
      await use(control, generationDatabase(mongo, config.DATABASE_NAME, active), active);
      return `DATABASE_NAME: generation ${active} of ${config.DATABASE_NAME} is active`;
    }),
  );
  return active;
}

async function checkRateLimitStore(line: Line, config: ApiConfig): Promise<void> {
  const store = rateLimitStoreOf(config);
  if (store === null) return;
  await line('rate limit', async () => {
    const limit = { requests: config.RATE_LIMIT_REQUESTS, windowSeconds: config.RATE_LIMIT_WINDOW_SECONDS };
    const limiter = await connectRedisRateLimiter(store, limit, () => undefined).catch((error: unknown) => {
      throw new Error(`RATE_LIMIT_STORE_URL: ${(error as Error).message}`, { cause: error });
    });
    limiter.close();
    return 'RATE_LIMIT_STORE_URL: counts requests';
  });
}
