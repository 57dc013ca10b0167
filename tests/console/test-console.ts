import { get } from 'node:http';
import { logLevel } from 'kafkajs';
import { pino } from 'pino';
import { readConsoleConfig } from '../../services/console/config.ts';
import { createReconnectingKafka } from '../../services/console/connections.ts';
import { startConsole } from '../../services/console/console.ts';
import { createBrokers } from '../../shared/kafka/brokers.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import { createMongo } from '../../shared/store/connection.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { monitorCommands } from '../support/monitor-commands.ts';

/** The commands that change nothing. A console that sends any other command fails its test when it closes. */
const readCommands = [
  'find',
  'getMore',
  'killCursors',
  'count',
  'distinct',
  'aggregate',
  'listCollections',
  'listIndexes',
  'ping',
  'hello',
  'endSessions',
  // Without a registry, the console checks whether an earlier read model is still there.
  'listDatabases',
  // The rest are requests of Kafka.
  'ApiVersions',
  'Metadata',
  'ListOffsets',
  'DescribeConfigs',
  'GroupCoordinator',
  'DescribeGroups',
];

/** Starts a console in this process on a free port of loopback, with settings besides those of `environment`. */
export async function openConsole(environment: Record<string, string | undefined>) {
  const settings = readConsoleConfig({ CONSOLE_PORT: '0', ...environment });
  if ('errors' in settings) throw new Error(settings.errors.join('\n'));
  const { config } = settings;
  const commands = new Set<string>();
  // kafkajs logs each request that it sends.
  const logger = pino(
    { level: 'debug' },
    { write: (line) => commands.add(/Request (\w+)\(key/.exec(line)?.[1] ?? 'ping') },
  );
  const mongo = monitorCommands(createMongo(config.MONGODB_URL, 'test'));
  mongo.on('commandStarted', ({ commandName }) => commands.add(commandName));
  const client = createKafka(config, logger, { retries: 1 });
  client.logger().setLogLevel(logLevel.DEBUG);
  const kafka = createReconnectingKafka(() => createBrokers(client));
  const { address, close } = await startConsole({
    config,
    mongo,
    kafka,
    logger,
    livenessFailure: () => null,
  });
  const url = `http://127.0.0.1:${address.port}`;
  const load = async (path: string): Promise<string> => {
    const response = await fetch(url + path);
    return response.text();
  };
  /** Returns the markup of a page that shows answers of MongoDB and Kafka. A page waits for them only for seconds. */
  const read = async (path: string): Promise<string> => {
    let markup = '';
    await eventually(async () => {
      markup = await load(path);
      const isAnswered = !markup.includes('has not answered for');
      return isAnswered || notYet(markup);
    });
    return markup;
  };
  return {
    url,
    port: address.port,
    read,
    /** Resolves when a page shows all of the texts. */
    shows: (path: string, ...texts: (string | RegExp)[]): Promise<void> =>
      eventually(async () => {
        const page = textOf(await load(path));
        const isShown = (text: string | RegExp) =>
          typeof text === 'string' ? page.includes(text) : text.test(page);
        return texts.every(isShown) || notYet(page);
      }),
    close: async () => {
      await close();
      await Promise.all([kafka.close(), mongo.close()]);
      const writes = [...commands].filter((command) => !readCommands.includes(command));
      if (writes.length > 0) throw new Error(`a console must change nothing, but it sent ${writes.join()}`);
    },
  };
}

/** The text of a page, without its markup. */
export function textOf(page: string): string {
  const withoutTags = page.replace(/<[^>]*>/g, ' ');
  const text = withoutTags.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
  return text.replace(/\s+/g, ' ');
}

/** Requests a path with exactly these headers. A test cannot use fetch because fetch sets `Host` itself. */
export const requestWith = (
  port: number,
  headers: Record<string, string>,
  { path = '/', method = 'GET' } = {},
): Promise<{ status: number; headers: Record<string, unknown> }> =>
  new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      response.resume();
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    }).once('error', reject);
  });
