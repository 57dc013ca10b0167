import { Argument, type Command } from '@commander-js/extra-typings';
import type { Db, MongoClient } from 'mongodb';
import { readControlId } from '../../shared/control/control-id.ts';
import { groupIdOf } from '../../shared/control/generations.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { requireRegistry } from '../../shared/control/registry.ts';
import { tryAnnouncement } from '../../shared/control/replicas.ts';
import type { OwnMembership } from '../../shared/kafka/member-metadata.ts';
import { describeOtherTopics } from '../../shared/kafka/other-topics.ts';
import { explained } from '../../shared/kafka/remedies.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';
import { configOrExit } from '../../shared/runtime/config.ts';
import {
  generationDatabase,
  readPreferenceOf,
  requireReadable,
  requireWritable,
} from '../../shared/store/connection.ts';
import { type ApiConfig, readApiConfig } from '../api/config.ts';
import { rateLimitStoreOf } from '../api/rate-limit/rate-limit-settings.ts';
import { connectRedisRateLimiter } from '../api/rate-limit/redis-rate-limiter.ts';
import { projectorConfig } from '../projector/config.ts';
import { checkKafka, type Line } from './check-kafka.ts';
import { configs } from './config.ts';
import { type Accept, type Context, type Output, withMongo } from './context.ts';
import { example, jsonOption } from './options.ts';
import { type Json, lines, output } from './output.ts';

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

async function check(context: Context, options: Json & { role: Role }): Promise<Output> {
  const checks: Check[] = [];
  /** Adds a line, and returns whether it is well: those that build on it are left out otherwise. */
  const line: Line = async (name, work) => {
    try {
      checks.push({ name, isMet: true, detail: await work() });
      return true;
    } catch (error) {
      checks.push({ name, isMet: false, detail: explained(error) });
      return false;
    }
  };
  await checkers[options.role](line, context);
  const isWell = checks.every(({ isMet }) => isMet);
  const text = checks.map(
    ({ name, isMet, detail }) => `${(isMet ? 'ok' : 'FAILED').padEnd(8)}  ${name.padEnd(10)}  ${detail}`,
  );
  return output(options, checks, lines(text), isWell ? 0 : 1);
}

/** Prints every invalid variable of the role, and exits, before anything is connected. */
const checkers: Record<Role, (line: Line, context: Context) => Promise<void>> = {
  projector: async (line, context) => {
    const config = configOrExit(projectorConfig(context.environment));
    const topics = topicsOf(config.TOPIC_PREFIX);
    let own: OwnMembership | null = null;
    const active = await checkMongo(line, context, config, async ({ mongo, control }, activeGeneration) => {
      const generation = config.GENERATION ?? activeGeneration;
      await requireWritable(progressOf(control));
      const database = generationDatabase(mongo, config.DATABASE_NAME, generation);
      await requireWritable(database.collection('preflight'));
      const controlId = await readControlId(control);
      own = { followed: { controlId, database: config.DATABASE_NAME, generation }, topics };
      const recorded = await progressOf(control).find({ generation }).toArray();
      const otherTopics = describeOtherTopics(recorded, topics);
      if (otherTopics !== null) throw new Error(`generation ${generation}: ${otherTopics}`);
    });
    const groupId = groupIdOf(config, config.GENERATION ?? active);
    await checkKafka(line, context, config, {
      groupId,
      own,
      sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    });
  },
  api: async (line, context) => {
    const config = configOrExit(readApiConfig(context.environment));
    await checkMongo(line, context, config, async ({ mongo, control }, generation) => {
      const readPreference = readPreferenceOf(config.MONGODB_URL);
      await requireReadable(generationDatabase(mongo, config.DATABASE_NAME, generation, { readPreference }));
      await tryAnnouncement(control);
    });
    await checkRateLimitStore(line, config);
  },
  cli: async (line, context) => {
    const config = configs.everything(context.environment);
    await checkKafka(line, context, config, null);
    await checkMongo(line, context, config, () => Promise.resolve());
  },
};

/** Returns the number of the active generation. */
async function checkMongo(
  line: Line,
  context: Context,
  config: { MONGODB_URL: string; DATABASE_NAME: string },
  use: (deps: { mongo: MongoClient; control: Db }, active: number) => Promise<unknown>,
): Promise<number> {
  // A projector begins with generation 1 if no other is active.
  let active = 1;
  const answers = await line('MongoDB', () => withMongo(context, config, async () => 'MONGODB_URL: answers'));
  if (!answers) return active;
  await line('read model', () =>
    withMongo(context, config, async ({ mongo, control }) => {
      active = (await requireRegistry(control)).generation;
      await use({ mongo, control }, active);
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
