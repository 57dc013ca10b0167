#!/usr/bin/env -S node --disable-warning=TimeoutNegativeWarning
import type { Admin } from 'kafkajs';
import type { MongoClient } from 'mongodb';
import { configOrExit } from '../../shared/runtime/config.ts';
import { kinds } from '../../shared/documents/document.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { controlDatabase, createMongo } from '../../shared/store/connection.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { topicOf } from '../projector/events/topics.ts';
import { createKafka } from '../projector/kafka/client.ts';
import { createLogClient, type LogClient } from '../projector/kafka/log-client.ts';
import { cliConfig, deadLetterConfig, storeConfig } from './config.ts';
import { parseArguments, type CliCommand } from './command.ts';
import { runDeadLetters } from './dead-letters/run.ts';
import { runKeys } from './keys/run.ts';
import { operatorName } from './operator.ts';
import { asJson, type CommandOutput } from './output.ts';
import { runRebuild } from './rebuild/run.ts';
import { readStatus } from '../operations/status/status.ts';
import { renderStatus } from './status/render.ts';
import { createTopics } from './topics.ts';
import { readTrace, renderTrace } from './trace/trace.ts';
import { UsageError } from './usage-error.ts';

const parsed = parseArguments(process.argv.slice(2));
if ('usageError' in parsed) {
  process.stderr.write(parsed.usageError);
  process.exit(2);
}
if ('help' in parsed) {
  process.stdout.write(parsed.help);
  process.exit(0);
}
const { command } = parsed;

/** Runs the verb. Returns the text to print, with an exit code if it can be other than 0. */
async function run(command: CliCommand): Promise<string | CommandOutput> {
  switch (command.verb) {
    case 'topics create': {
      const { partitions } = command;
      return withKafka(({ admin, config }) => createTopics(admin, config.TOPIC_PREFIX, partitions));
    }
    case 'status': {
      const status = await withKafka((kafkaTopics) =>
        withStore((mongo) => readStatus({ ...kafkaTopics, mongo })),
      );
      return command.json ? asJson(status) : renderStatus(status);
    }
    case 'trace': {
      const { requestId } = command;
      const trace = await withStore((mongo, name) => readTrace(controlDatabase(mongo, name), requestId));
      return command.json ? asJson(trace) : renderTrace(trace);
    }
    case 'rebuild start':
    case 'rebuild status':
    case 'rebuild history':
    case 'rebuild await':
    case 'rebuild pace':
    case 'rebuild compare':
    case 'rebuild promote':
    case 'rebuild rollback':
    case 'rebuild drop':
    case 'verify':
      return withKafka(({ admin, log, config }) =>
        withStore(async (mongo, name) => {
          const topics = kinds.map((kind) => topicOf(kind, config.TOPIC_PREFIX));
          const control = controlDatabase(mongo, name);
          const deps = { admin, log, mongo, config, topics, control, now: () => storeTime(control) };
          return runRebuild({ ...deps, by: operatorName(config.OPERATOR), report: toStderr }, command);
        }),
      );
    case 'keys list':
    case 'keys block':
    case 'keys unblock':
      return withStore((mongo, name) =>
        runKeys({ mongo, name, operator: operatorName(process.env.OPERATOR) }, command),
      );
    case 'completion':
      return command.script;
    case 'dead-letters list':
    case 'dead-letters show':
    case 'dead-letters redrive':
    case 'dead-letters purge': {
      const config = configOrExit(deadLetterConfig(process.env));
      return withStore((mongo) => runDeadLetters({ mongo, config, now: () => new Date() }, command));
    }
  }
}

const toStderr = (line: string) => process.stderr.write(`${line}\n`);

type KafkaTopics = { admin: Admin; log: LogClient; config: ReturnType<typeof kafkaConfig> };
const kafkaConfig = () => configOrExit(cliConfig(process.env));

async function withKafka<T>(use: (kafkaTopics: KafkaTopics) => Promise<T>): Promise<T> {
  const config = kafkaConfig();
  // The CLI reports a failure once, at the end. kafkajs logs its attempts only if LOG_LEVEL is set.
  const level = process.env.LOG_LEVEL ? config.LOG_LEVEL : 'silent';
  const kafka = createKafka(config, createLogger('cli', level));
  const [admin, log] = [kafka.admin(), createLogClient(kafka)];
  try {
    await reached('Kafka (KAFKA_BROKERS)', Promise.all([admin.connect(), log.connect()]));
    return await use({ admin, log, config });
  } finally {
    await Promise.allSettled([admin.disconnect(), log.disconnect()]);
  }
}

async function withStore<T>(use: (mongo: MongoClient, name: string) => Promise<T>): Promise<T> {
  const config = configOrExit(storeConfig(process.env));
  const mongo = createMongo(config.MONGODB_URL, 'cli');
  try {
    await reached('the store (MONGODB_URL)', mongo.connect());
    return await use(mongo, config.DATABASE_NAME);
  } finally {
    await mongo.close().catch(() => undefined);
  }
}

async function reached(server: string, connecting: Promise<unknown>): Promise<void> {
  try {
    await connecting;
  } catch (error) {
    throw new Error(`${server} cannot be reached: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

try {
  const result = await run(command);
  const { text, exitCode } = typeof result === 'string' ? { text: result, exitCode: 0 } : result;
  process.stdout.write(text);
  process.exitCode = exitCode;
} catch (error) {
  process.stderr.write(`${command.verb} failed: ${errorMessage(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
