import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from 'mongodb';
import { freePorts } from '../../../infra/dev-servers/native/ports.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import { ensureIndexes } from '../../../shared/store/indexes.ts';
import { eventually } from '../../support/eventually.ts';
import { startCommand, type Service } from '../../../infra/service.ts';
import { countAllDocuments, withScratch, type BenchEnvironment } from '../environment.ts';
import { exitErrors } from '../processes.ts';
import { partitionsPerTopic, type Published } from '../publish.ts';
import { measure } from '../usage.ts';
import type { BacklogRun } from './backlog.ts';
import { installConnector, sinkSettings, workerSettings, writeProperties } from './kafka-connect.ts';

/** The connector counts as unable to run if its first or last document takes longer than this. */
const stuckMs = 60_000;

/** The connector does not work with these servers. */
export class ConnectorFailed extends Error {
  override name = 'ConnectorFailed';
}

/**
 * Runs the sink connector in a standalone worker on an empty database with the same indexes. The measurement starts when
 * the first document is seen. It excludes the start of the JVM, and the documents present at that moment.
 */
export async function runConnector(environment: BenchEnvironment, published: Published): Promise<BacklogRun> {
  const installed = await installConnector();
  if ('unavailable' in installed) throw new ConnectorFailed(installed.unavailable);
  return withScratch(environment, async ({ name, database }) => {
    await ensureIndexes(database);
    const { databaseName } = database;
    const sink = { name, database: databaseName, prefix: published.prefix, tasks: partitionsPerTopic };
    const worker = await startWorker(environment, installed.libs, sink);
    const until = (isReached: () => Promise<boolean>, failure: string) => {
      const deadline = performance.now() + stuckMs;
      const hasFailed = () => exitErrors(worker).length > 0 || performance.now() > deadline;
      const error = () => new ConnectorFailed(`${failure}; its log ends with: ${lastLines(worker.stderr())}`);
      return eventually(isReached, () => (hasFailed() ? [error()] : []));
    };
    try {
      let present = 0;
      await until(async () => (present = await countAllDocuments(database)) > 0, 'wrote nothing');
      const usage = await measure(worker, () =>
        until(() => hasAll(database, published), 'did not write every document'),
      );
      const documents = await countAllDocuments(database);
      return { ...usage, records: documents - present, documents, startSeconds: null };
    } finally {
      await worker.stop('SIGKILL');
    }
  });
}

async function startWorker(
  environment: BenchEnvironment,
  libs: string,
  sink: Parameters<typeof sinkSettings>[1],
): Promise<Service> {
  const dir = join(environment.dataDir, sink.name);
  await mkdir(dir, { recursive: true });
  const [restPort = 0] = await freePorts(1);
  const files = [join(dir, 'worker.properties'), join(dir, 'sink.properties')] as const;
  await writeProperties(files[0], workerSettings(environment.kafkaBrokers, restPort, dir));
  await writeProperties(files[1], sinkSettings(environment, sink));
  // The heap of Kafka's start script.
  const java = ['java', '-Xms256M', '-Xmx2G', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'];
  const main = ['-cp', join(libs, '*'), 'org.apache.kafka.connect.cli.ConnectStandalone', ...files];
  return startCommand([...java, ...main], {}, 'Kafka Connect');
}

/** A task writes the records of a partition in order, so the last document implies all others. */
async function hasAll(database: Db, { lastIds, entities }: Published): Promise<boolean> {
  for (const { kind, id } of lastIds)
    if (!(await collectionOf(database, kind).findOne({ _id: id }, { projection: { _id: 1 } }))) return false;
  return (await countAllDocuments(database)) >= entities;
}

const lastLines = (text: string) => text.trimEnd().split('\n').slice(-5).join(' | ');
