import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from 'mongodb';
import { freePorts } from '../../../infra/dev-servers/native/ports.ts';
import {
  isRunning,
  launch,
  stopProcess,
  type ProcessRecord,
} from '../../../infra/dev-servers/native/processes.ts';
import { dieWithParent } from '../../../infra/dev-servers/die-with-parent.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { ensureIndexes } from '../../../shared/store/indexes.ts';
import { eventually } from '../../support/eventually.ts';
import { peakMegabytes } from '../../support/memory.ts';
import { processorSeconds } from '../processor-time.ts';
import { connectorSettings, properties, workerSettings } from './connector-settings.ts';
import { documentsIn, progress, withScratch, type BenchEnvironment } from '../environment.ts';
import { installConnector } from './connector-install.ts';
import { partitionsPerTopic, type Published } from '../publish.ts';
import type { BacklogRun } from './backlog.ts';

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
  const installed = await installConnector(progress);
  if ('unavailable' in installed) throw new ConnectorFailed(installed.unavailable);
  const { libs } = installed;
  return withScratch(environment, async ({ name, database }) => {
    await ensureIndexes(database);
    const dir = join(environment.dataDir, name);
    const worker = await launchWorker(environment, { libs, dir, name, database, prefix: published.prefix });
    try {
      return await measure(environment, worker, { database, published, logFile: join(dir, 'connect.log') });
    } finally {
      await stopProcess(worker);
    }
  });
}

async function launchWorker(
  { kafkaBrokers, mongodbUrl }: BenchEnvironment,
  {
    libs,
    dir,
    name,
    database,
    prefix,
  }: { libs: string; dir: string; name: string; database: Db; prefix: string },
): Promise<ProcessRecord> {
  await mkdir(dir, { recursive: true });
  const [restPort = 0] = await freePorts(1);
  const settings = {
    worker: workerSettings(kafkaBrokers, restPort, dir),
    sink: connectorSettings({
      name,
      mongodbUrl,
      database: database.databaseName,
      prefix,
      tasks: partitionsPerTopic,
    }),
  };
  const files = { worker: join(dir, 'worker.properties'), sink: join(dir, 'sink.properties') };
  await writeFile(files.worker, properties(settings.worker));
  await writeFile(files.sink, properties(settings.sink));
  // The heap of Kafka's start script.
  const heap = ['-Xms256M', '-Xmx2G'];
  const main = ['org.apache.kafka.connect.cli.ConnectStandalone', files.worker, files.sink];
  const level = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';
  const [file = '', ...args] = [...dieWithParent(), 'java', ...heap, level, '-cp', join(libs, '*'), ...main];
  const logFile = join(dir, 'connect.log');
  return launch({ name: 'Kafka Connect', file, args, cwd: dir, logFile, stopSignal: 'SIGTERM' });
}

async function measure(
  { storeSeconds }: BenchEnvironment,
  worker: ProcessRecord,
  { database, published, logFile }: { database: Db; published: Published; logFile: string },
): Promise<BacklogRun> {
  const until = (isReached: () => Promise<boolean>, failure: string) => {
    const deadline = performance.now() + stuckMs;
    const hasFailed = () => !isRunning(worker) || performance.now() > deadline;
    const error = () => new ConnectorFailed(`${failure}; its log ends with: ${endOf(logFile)}`);
    return eventually(isReached, () => (hasFailed() ? [error()] : []));
  };
  await until(() => hasAny(database, published), 'wrote nothing');
  const before = { ms: performance.now(), processor: processorSeconds(worker.pid), store: storeSeconds() };
  const already = await documentsIn(database);
  await until(() => hasAll(database, published), 'did not write every document');
  const seconds = (performance.now() - before.ms) / 1_000;
  const store = storeSeconds();
  const documents = await documentsIn(database);
  return {
    records: documents - already,
    documents,
    startSeconds: null,
    seconds,
    processorSeconds: processorSeconds(worker.pid) - before.processor,
    storeProcessorSeconds: before.store === null || store === null ? null : store - before.store,
    peakMegabytes: peakMegabytes({ pid: worker.pid }),
  };
}

async function hasAny(database: Db, { lastIds }: Published): Promise<boolean> {
  const collections = [...new Set(lastIds.map(({ kind }) => resources[kind].collection))];
  const found = collections.map((collection) =>
    database.collection(collection).findOne({}, { projection: { _id: 1 } }),
  );
  return (await Promise.all(found)).some((document) => document !== null);
}

/** A task writes the records of a partition in order, so the last document implies all others. */
async function hasAll(database: Db, { lastIds, entities }: Published): Promise<boolean> {
  for (const { kind, id } of lastIds) {
    const collection = database.collection<{ _id: string }>(resources[kind].collection);
    if (!(await collection.findOne({ _id: id }, { projection: { _id: 1 } }))) return false;
  }
  return (await documentsIn(database)) >= entities;
}

const endOf = (file: string) => readFileSync(file, 'utf8').trimEnd().split('\n').slice(-5).join(' | ');
