import type { Admin } from 'kafkajs';
import type { MongoClient } from 'mongodb';
import { configOrExit } from '../../shared/runtime/config.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { controlDatabase, createMongo } from '../../shared/runtime/mongo.ts';
import { createKafka } from '../projector/kafka.ts';
import { cliConfig, storeConfig } from './config.ts';
import { parseCommand, usage, type Command } from './command.ts';
import { readStatus } from './status/read.ts';
import { renderStatus } from './status/render.ts';
import { createTopics } from './topics.ts';
import { readTrace, renderTrace } from './trace/trace.ts';

const command = parseCommand(process.argv.slice(2));
if ('fault' in command) {
  process.stderr.write(`${command.fault}\n\n${usage}`);
  process.exit(2);
}
if (command.verb === 'help') {
  process.stdout.write(usage);
  process.exit(0);
}

const asJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

type Verb = Exclude<Command, { fault: string } | { verb: 'help' }>;

/** What the verb prints. */
async function run(command: Verb): Promise<string> {
  switch (command.verb) {
    case 'topics create': {
      const { partitions } = command;
      return withBus(({ admin, config }) => createTopics(admin, config.TOPIC_PREFIX, partitions));
    }
    case 'status': {
      const status = await withBus((bus) => withStore((mongo) => readStatus({ ...bus, mongo })));
      return command.json ? asJson(status) : renderStatus(status);
    }
    case 'trace': {
      const { requestId } = command;
      const trace = await withStore((mongo, name) => readTrace(controlDatabase(mongo, name), requestId));
      return command.json ? asJson(trace) : renderTrace(trace);
    }
  }
}

type Bus = { admin: Admin; config: ReturnType<typeof busConfig> };
const busConfig = () => configOrExit(cliConfig(process.env));

async function withBus<T>(use: (bus: Bus) => Promise<T>): Promise<T> {
  const config = busConfig();
  const admin = createKafka(config, createLogger('cli', config.LOG_LEVEL)).admin();
  try {
    await admin.connect();
    return await use({ admin, config });
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

async function withStore<T>(use: (mongo: MongoClient, name: string) => Promise<T>): Promise<T> {
  const config = configOrExit(storeConfig(process.env));
  const mongo = createMongo(config.MONGODB_URL, 'cli');
  try {
    return await use(mongo, config.DATABASE_NAME);
  } finally {
    await mongo.close().catch(() => undefined);
  }
}

try {
  process.stdout.write(await run(command));
} catch (error) {
  process.stderr.write(`${command.verb} failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
