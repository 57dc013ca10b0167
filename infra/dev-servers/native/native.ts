import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import type { ServerName, StackOptions, Started } from '../provider.ts';
import { readStoreChoice } from '../store.ts';
import { ferretdbProcess, installFerretdb } from './ferretdb.ts';
import { installKafka, kafkaDir, prepareBroker } from './kafka.ts';
import { findMongod, mongodProcess, replicaSet } from './mongod.ts';
import { freePort, freePorts } from './ports.ts';
import { installPostgres, postgresInstalled, preparePostgres } from './postgres.ts';
import { findStandInObstacle, java, maven, mmdebstrap, requireTools } from './prerequisites.ts';
import { reportStep } from './progress.ts';
import { startServer } from './server.ts';

/**
 * Starts a server as processes on free loopback ports: Kafka from Maven Central, or a `mongod` that this machine has or
 * downloads. Without a `mongod`, starts a stand-in for MongoDB: FerretDB from the Go module proxy, on PostgreSQL with
 * DocumentDB from Debian. The first run installs the programs into the cache folder.
 */
export async function startNative(options: StackOptions, name: ServerName): Promise<Started> {
  if (process.platform !== 'linux') throw new Error('needs Linux');
  return name === 'kafka' ? startKafka(options) : startStore(options);
}

async function startKafka({ report, dataDir }: StackOptions): Promise<Started> {
  await requireTools(report, 'Kafka', existsSync(kafkaDir()) ? [java] : [java, maven]);
  await installKafka(report);
  const dir = await folder(dataDir, 'kafka');
  const [broker = 0, controller = 0] = await freePorts(2);
  const kafka = prepareBroker(dir, { id: 1, broker, controller });
  const server = await reportStep(report, 'Kafka: starting', () => startServer([kafka]));
  return { address: `127.0.0.1:${broker}`, ...server };
}

async function startStore(options: StackOptions): Promise<Started> {
  const { report, dataDir } = options;
  const choice = readStoreChoice();
  if (choice === 'stand-in') return startStandIn(options);
  const mongod = await findMongod(report);
  if ('obstacle' in mongod) {
    if (choice === 'mongod') throw new Error(`MongoDB ${mongod.obstacle}`);
    report(`MongoDB ${mongod.obstacle}: a stand-in is used`);
    return startStandIn(options).catch((error: unknown) => {
      throw new Error(`MongoDB ${mongod.obstacle}; ${errorMessage(error)}`);
    });
  }
  const port = await freePort();
  const member = mongodProcess(mongod.program, await folder(dataDir, 'mongod'), port);
  const server = await reportStep(report, 'MongoDB: starting', () => startServer([member]));
  return { address: `mongodb://127.0.0.1:${port}/?replicaSet=${replicaSet}`, ...server };
}

async function startStandIn({ report, dataDir }: StackOptions): Promise<Started> {
  const obstacle = await findStandInObstacle();
  if (obstacle !== undefined) throw new Error(`the stand-in for MongoDB ${obstacle}`);
  await requireTools(report, 'the stand-in for MongoDB', postgresInstalled() ? [] : [mmdebstrap]);
  await Promise.all([installPostgres(report), installFerretdb(report)]);
  const postgresIn = join(resolve(dataDir), 'postgres');
  const postgres = await preparePostgres(postgresIn, join(resolve(dataDir), 'postgres.log'));
  const port = await freePort();
  const ferretdb = ferretdbProcess(await folder(dataDir, 'ferretdb'), postgresIn, port);
  const server = await reportStep(report, 'The stand-in for MongoDB: starting', () =>
    startServer([postgres, ferretdb]),
  );
  return { address: `mongodb://127.0.0.1:${port}/`, ...server };
}

/** A folder for the data and logs of one server. */
async function folder(dataDir: string, name: string): Promise<string> {
  const path = join(resolve(dataDir), name);
  await mkdir(path, { recursive: true });
  return path;
}
