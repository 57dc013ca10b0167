import { Argument, type Command } from '@commander-js/extra-typings';
import type { Db, MongoClient } from 'mongodb';
import { tryAnnouncement } from '../../shared/control/processes.ts';
import { requireRegistry } from '../../shared/control/registry.ts';
import type { Brokers } from '../../shared/kafka/brokers.ts';
import { explained } from '../../shared/kafka/errors.ts';
import { describeHidden } from '../../shared/kafka/find-topics.ts';
import { readTopicSettings, refusedSettings, topicWarnings } from '../../shared/kafka/topic-settings.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';
import { configOrExit } from '../../shared/runtime/config.ts';
import { counted } from '../../shared/runtime/counted.ts';
import { createLogOutput } from '../../shared/runtime/log-output.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { type Meet, type Preconditions, preconditionsOf } from '../../shared/runtime/preconditions.ts';
import { createStoreClock, storeTime } from '../../shared/store/clock.ts';
import {
  createMongo,
  generationDatabase,
  readPreferenceOf,
  requireReadable,
} from '../../shared/store/connection.ts';
import { type ApiConfig, readApiConfig } from '../api/config.ts';
import { rateLimitOf, rateLimitStoreOf } from '../api/rate-limit/rate-limit-settings.ts';
import { connectRedisRateLimiter } from '../api/rate-limit/redis-rate-limiter.ts';
import { createReadSnapshots } from '../api/store/read-snapshot.ts';
import { createSnapshotSources } from '../api/store/snapshot-sources.ts';
import { projectorConfig } from '../projector/config.ts';
import {
  connectBrokers,
  connectStore,
  enterGroup,
  openModel,
  reachBrokers,
} from '../projector/startup/preconditions.ts';
import { configs } from './config.ts';
import {
  closeWithin,
  connectKafka,
  type Context,
  type KafkaConfig,
  type Output,
  type SelectVerb,
} from './context.ts';
import { exampleHelp, jsonOption } from './options.ts';
import { type Json, lines, output } from './output.ts';

const roles = ['projector', 'api', 'cli'] as const;
type Role = (typeof roles)[number];

export function addCheck(program: Command, select: SelectVerb): void {
  program
    .command('check')
    .description(
      'try each condition of the start of a service, with its settings, and name the setting that is at fault',
    )
    .addArgument(new Argument('[role]', 'whose settings the environment has').choices(roles).default('cli'))
    .addOption(jsonOption())
    .addHelpText('after', '\nRun it in the environment of that service. Exit code 1 if a line failed.')
    .addHelpText('after', exampleHelp('check', 'check projector'))
    .action((role, options) => select(check, { role, ...options }));
}

/** A line of the output. `detail` names the setting, and describes success or gives the reason of the failure. */
type Check = { name: string; isMet: boolean; detail: string };

/**
 * Tries each condition once, up to the first that is not met. Returns null if one is not met, and skips the later ones.
 */
type TryConditions = <In, Out>(conditions: Preconditions<In, Out>, base: In) => Promise<Out | null>;

/** Ends a list of conditions. The output already contains the reason. */
class ConditionNotMet extends Error {
  override name = 'NotMet';
}

async function check(context: Context, options: Json & { role: Role }): Promise<Output> {
  const checks: Check[] = [];
  const meet: Meet = async ({ name, setting }, attempt, describe) => {
    const add = (isMet: boolean, text: string) =>
      checks.push({ name, isMet, detail: text.includes(setting) ? text : `${setting}: ${text}` });
    try {
      const out = await attempt();
      add(true, describe(out));
      return out;
    } catch (error) {
      add(false, explained(error));
      throw new ConditionNotMet();
    }
  };
  const tryAll: TryConditions = (conditions, base) =>
    conditions.meetAll(base, meet).catch((error: unknown) => {
      if (error instanceof ConditionNotMet) return null;
      throw error;
    });
  await checkers[options.role](tryAll, context);
  const text = checks.map(
    ({ name, isMet, detail }) => `${(isMet ? 'ok' : 'FAILED').padEnd(8)}  ${name.padEnd(10)}  ${detail}`,
  );
  return output(options, checks, lines(text), checks.every(({ isMet }) => isMet) ? 0 : 1);
}

/**
 * The checks of each role. If a setting is invalid, the verb prints all invalid settings and exits before it connects
 * to a server.
 */
const checkers: Record<Role, (tryAll: TryConditions, context: Context) => Promise<void>> = {
  projector: async (tryAll, context) => {
    const config = configOrExit(projectorConfig(context.environment));
    await withClients(context, config, async ({ mongo, brokers }) => {
      const topics = topicsOf(config.TOPIC_PREFIX);
      const deps = { mongo, brokers, config, topics, isTrial: true, onWait: () => undefined, logger: silent };
      const store = await tryAll(connectStore, deps);
      const opened = store && (await tryAll(openModel, { ...deps, ...store }));
      const connected = await tryAll(connectBrokers, deps);
      if (opened && connected) await tryAll(enterGroup, { ...opened, ...connected, config });
    });
  },
  api: async (tryAll, context) => {
    const config = configOrExit(readApiConfig(context.environment));
    const mongo = createMongo(config.MONGODB_URL, 'cli');
    try {
      const store = await tryAll(connectStore, { mongo, config });
      if (store) await tryAll(serveConditions, { ...store, config });
      if (rateLimitStoreOf(config)) await tryAll(rateLimitConditions, { config });
    } finally {
      await closeWithin(mongo.close());
    }
  },
  cli: async (tryAll, context) => {
    const config = configs.everything(context.environment);
    await withClients(context, config, async ({ mongo, brokers }) => {
      const topics = topicsOf(config.TOPIC_PREFIX);
      await tryAll(topicConditions, { brokers, topics, isTrial: true });
      const store = await tryAll(connectStore, { mongo, config });
      if (store) await tryAll(readModelConditions, { ...store, config });
    });
  },
};

const silent = createLogger('cli', 'silent', createLogOutput({ stream: 'stderr' }));

type Clients = { mongo: MongoClient; brokers: Brokers };

/**
 * Creates the clients, and closes them after `use`. They are not connected yet, because the conditions connect them.
 */
async function withClients(
  context: Context,
  config: KafkaConfig & { MONGODB_URL: string },
  use: (clients: Clients) => Promise<void>,
): Promise<void> {
  const mongo = createMongo(config.MONGODB_URL, 'cli');
  const { clients, brokers, close } = connectKafka(context, config, config.KAFKA_BROKERS.length);
  const connect = async () => {
    await clients;
  };
  try {
    await use({ mongo, brokers: { ...brokers, connect } });
  } finally {
    await Promise.all([close(), closeWithin(mongo.close())]);
  }
}

type ModelDeps = { mongo: MongoClient; control: Db; config: { MONGODB_URL: string; DATABASE_NAME: string } };

/** The condition that a read model exists. */
const readModelConditions = preconditionsOf<ModelDeps>().and({
  name: 'read model',
  setting: 'DATABASE_NAME',
  run: async ({ control }) => ({ active: (await requireRegistry(control)).generation }),
  describe: ({ active, config }) => `generation ${active} of ${config.DATABASE_NAME} is active`,
});

/** The conditions under which an API replica could answer: it has its rights, and `/readyz` would answer 200. */
const serveConditions = readModelConditions
  .and({
    name: 'rights',
    setting: 'MONGODB_URL',
    run: async ({ mongo, control, config, active }) => {
      const readPreference = readPreferenceOf(config.MONGODB_URL);
      await requireReadable(generationDatabase(mongo, config.DATABASE_NAME, active, { readPreference }));
      await tryAnnouncement(control);
      return {};
    },
    describe: () => 'may read documents, and announce a replica',
  })
  .and({
    name: 'readiness',
    setting: 'DATABASE_NAME',
    run: async ({ mongo, control, config }) => {
      const nowMs = () => performance.now();
      const clock = createStoreClock(() => storeTime(control), nowMs);
      const readPreference = readPreferenceOf(config.MONGODB_URL);
      const sources = createSnapshotSources(
        { mongo, readPreference, authMongo: mongo, control, clock },
        config.DATABASE_NAME,
      );
      const snapshots = createReadSnapshots({ ...sources, logger: silent, nowMs });
      return { served: await snapshots.current() };
    },
    describe: ({ served }) => `generation ${served.generation} can be served`,
  });

const rateLimitConditions = preconditionsOf<{ config: ApiConfig }>().and({
  name: 'rate limit',
  setting: 'RATE_LIMIT_STORE_URL',
  run: async ({ config }) => {
    const store = rateLimitStoreOf(config);
    if (store === null) return {};
    const limiter = await connectRedisRateLimiter(store, rateLimitOf(config), () => undefined);
    limiter.close();
    return {};
  },
  describe: () => 'counts requests',
});

/** The conditions that the operator's Kafka user sees the topics and their configuration. */
const topicConditions = reachBrokers
  .and({
    name: 'topics',
    setting: 'TOPIC_PREFIX',
    run: async ({ brokers, topics }) => {
      const { missing, hidden } = await brokers.log.find(topics);
      if (hidden.length > 0) throw new Error(`${describeHidden(hidden)}: check TOPIC_PREFIX`);
      if (missing.length > 0) throw new Error(`${missing.join(', ')} are missing: check TOPIC_PREFIX`);
      return {};
    },
    describe: ({ topics }) => counted(topics.length, 'topic'),
  })
  .and({
    name: 'settings',
    setting: 'TOPIC_PREFIX',
    run: async ({ brokers, topics }) => {
      const refused = topicWarnings(refusedSettings(await readTopicSettings(brokers.admin, topics)));
      if (refused.length > 0) throw new Error(refused.map(({ text }) => text).join('; '));
      return {};
    },
    describe: () => 'may read the configuration of the topics',
  });
