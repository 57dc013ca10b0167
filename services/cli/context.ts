import kafkajs, { type Kafka } from 'kafkajs';
import { monitorPools } from '../../shared/control/pool-monitor.ts';
import { type Brokers, createBrokers } from '../../shared/kafka/brokers.ts';
import { createKafka, type KafkaSettings } from '../../shared/kafka/client.ts';
import { explained, isRefusal } from '../../shared/kafka/errors.ts';
import type { Environment } from '../../shared/runtime/config.ts';
import { createLogOutput } from '../../shared/runtime/log-output.ts';
import { createLogger, type Logger } from '../../shared/runtime/logger.ts';
import { within } from '../../shared/runtime/within.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { controlDatabase, createMongo } from '../../shared/store/connection.ts';
import { readHello } from '../../shared/store/hello.ts';
import type { OperatorDeps } from '../operations/deps.ts';
import { operatorName } from './operator.ts';

/** The standard output of a verb, and its exit code. */
export type Output = { text: string | Buffer; exitCode: 0 | 1 | 3 };

export type Terminal = {
  /** Prints to standard output before the verb ends. Rejects if the text cannot be written. */
  print: (text: string | Buffer) => Promise<void>;
  /** Prints a line to standard error. */
  report: (line: string) => void;
  /** Prints a line to standard error that the next one overwrites. Prints nothing if that is not a terminal. */
  progress: (done: number, total: number) => void;
  /** Asks the operator a question; null without a terminal. */
  confirm: ((question: string) => Promise<boolean>) | null;
};

/** Whether the reader of standard output has ended, as `head` does once it has read enough. */
export const isClosedPipe = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EPIPE';

/** The environment of one run of a verb. `cli` is the command with which an operator starts the program. */
export type Context = { verb: string; cli: string; environment: Environment; terminal: Terminal };

/** Receives the verb that the arguments select. run.ts later calls `run` with a context and these options. */
export type SelectVerb = <O>(run: (context: Context, options: O) => Promise<Output>, options: O) => void;

/** An error in the arguments that only the settings or the environment show. The exit code is 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Asks the operator on the terminal whether to `act`, a verb such as `delete`. Throws without a terminal. */
export async function confirmOrThrow({ confirm }: Terminal, act: string, question: string): Promise<boolean> {
  if (confirm) return confirm(`${question} [y/N] `);
  throw new UsageError(`there is no terminal to ask for confirmation: add --yes to ${act} without asking`);
}

/** If Kafka takes longer than this to connect, in milliseconds, a line names the brokers. A busy machine needs less. */
const reportWaitAfterMs = 5_000;
/**
 * The time limit of connecting to Kafka, in milliseconds. It is longer than the 20 seconds for which kafkajs retries
 * refused connections, and shorter than the 30 seconds after which kafkajs mistakes a silent broker for a connected
 * one.
 */
const connectTimeoutMs = 25_000;

export type KafkaClients = Pick<Brokers, 'admin' | 'log'> & { kafka: Kafka };

export type KafkaConfig = KafkaSettings & { LOG_LEVEL: string };

/** Begins to connect to Kafka. If that fails, `clients` rejects, and `lastError` has the error of the last attempt. */
export function connectKafka({ environment }: Context, config: KafkaConfig, retries?: number) {
  // The CLI reports a failure once, at the end. It logs steps and attempts only if LOG_LEVEL is set.
  const level = environment.LOG_LEVEL?.trim() ? config.LOG_LEVEL : 'silent';
  const logger = createLogger('cli', level, createLogOutput({ stream: 'stderr' }));
  let lastError: string | null = null;
  const onError = (message: string): void => {
    lastError = message;
  };
  const kafka = createKafka(config, logger, { ...(retries !== undefined && { retries }), onError });
  const brokers = createBrokers(kafka);
  const clients = (async (): Promise<KafkaClients> => {
    const silence = `no answer for ${connectTimeoutMs / 1_000} s`;
    const silent = () => Promise.reject(new kafkajs.KafkaJSConnectionError(lastError ?? silence));
    await explainFailure('Kafka (KAFKA_BROKERS)', within(connectTimeoutMs, brokers.connect(), silent));
    return { kafka, ...brokers };
  })();
  clients.catch(() => undefined);
  const close = () => closeWithin(brokers.disconnect());
  return { clients, brokers, lastError: () => lastError, logger, close };
}

/** Connects to Kafka, and disconnects after `use`. */
export async function withKafka<T>(
  context: Context,
  config: KafkaConfig,
  use: (clients: KafkaClients, logger: Logger) => Promise<T>,
): Promise<T> {
  const { clients, lastError, logger, close } = connectKafka(context, config);
  const waiting = setTimeout(() => {
    const reason = lastError() === null ? '' : `: ${lastError()}`;
    context.terminal.report(`waiting for Kafka at ${config.KAFKA_BROKERS.join(', ')}${reason}`);
  }, reportWaitAfterMs);
  try {
    return await use(await clients.finally(() => clearTimeout(waiting)), logger);
  } finally {
    await close();
  }
}

type MongoConfig = { MONGODB_URL: string; DATABASE_NAME: string; OPERATOR?: string | undefined };

/** The dependencies of a verb on MongoDB. */
export type MongoDeps<C extends MongoConfig> = Pick<
  OperatorDeps,
  'mongo' | 'control' | 'now' | 'by' | 'report'
> & { config: C; cli: string };

/** Connects to MongoDB, and disconnects after `use`. */
export async function withMongo<C extends MongoConfig, T>(
  { cli, terminal: { report } }: Context,
  config: C,
  use: (deps: MongoDeps<C>) => Promise<T>,
): Promise<T> {
  const mongo = createMongo(config.MONGODB_URL, 'cli');
  let stopMonitor = (): void => undefined;
  try {
    const control = controlDatabase(mongo, config.DATABASE_NAME);
    const reaching = mongo.connect().then(() => readHello(control));
    await explainFailure('MongoDB (MONGODB_URL)', reaching);
    const now = () => storeTime(control);
    const createFresh = () => createMongo(config.MONGODB_URL, 'cli-check', { poolSizeMax: 1 });
    const logger = { warn: (_: object, message: string) => report(message) };
    stopMonitor = monitorPools({
      pools: { cli: mongo },
      createFresh,
      database: config.DATABASE_NAME,
      logger,
    }).stop;
    return await use({ mongo, control, config, cli, now, by: operatorName(config.OPERATOR), report });
  } finally {
    stopMonitor();
    await closeWithin(mongo.close());
  }
}

/** The time limit of a close, in milliseconds: kafkajs waits for requests in progress without a limit. */
const closeTimeoutMs = 3_000;

/** Waits for a close, but no longer than 3 seconds: the process ends afterwards. Never rejects. */
export const closeWithin = (closing: Promise<unknown>): Promise<unknown> =>
  within(closeTimeoutMs, Promise.allSettled([closing]), () => undefined);

async function explainFailure(server: string, connecting: Promise<unknown>): Promise<void> {
  try {
    await connecting;
  } catch (error) {
    const problem = isRefusal(error) ? 'refuses this client' : 'cannot be reached';
    throw new Error(`${server} ${problem}: ${explained(error)}`, { cause: error });
  }
}
