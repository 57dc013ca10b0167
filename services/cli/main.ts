import { configOrExit } from '../../shared/runtime/config.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { createMongo } from '../../shared/runtime/mongo.ts';
import { createKafka } from '../projector/kafka.ts';
import { cliConfig } from './config.ts';
import { parseCommand, usage } from './command.ts';
import { readStatus } from './status/read.ts';
import { renderStatus } from './status/render.ts';
import { createTopics } from './topics.ts';

const command = parseCommand(process.argv.slice(2));
if ('fault' in command) {
  process.stderr.write(`${command.fault}\n\n${usage}`);
  process.exit(2);
}
if (command.verb === 'help') {
  process.stdout.write(usage);
  process.exit(0);
}

const config = configOrExit(cliConfig(process.env));
const kafka = createKafka(config, createLogger('cli', config.LOG_LEVEL));
const admin = kafka.admin();
const mongo = createMongo(config.MONGODB_URL, 'cli');
try {
  await admin.connect();
  switch (command.verb) {
    case 'topics create':
      process.stdout.write(await createTopics(admin, config.TOPIC_PREFIX, command.partitions));
      break;
    case 'status': {
      const status = await readStatus({ admin, mongo, config });
      process.stdout.write(command.json ? `${JSON.stringify(status, null, 2)}\n` : renderStatus(status));
    }
  }
} catch (error) {
  process.stderr.write(`${command.verb} failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await Promise.allSettled([admin.disconnect(), mongo.close()]);
}
