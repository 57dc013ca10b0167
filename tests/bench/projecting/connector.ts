import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { freePorts } from '../../../infra/dev-servers/native/ports.ts';
import {
  isRunning,
  launch,
  stopProcess,
  type ProcessRecord,
} from '../../../infra/dev-servers/native/processes.ts';
import { tiedToParent } from '../../../infra/dev-servers/tied-to-parent.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { ensureIndexes } from '../../../shared/store/indexes.ts';
import { peakMegabytes } from '../../support/memory.ts';
import { processorSeconds } from '../processor-time.ts';
import { connectorSettings, properties, workerSettings } from './connector-settings.ts';
import { documentsIn, withScratch, type BenchEnvironment } from './environment.ts';
import { partitionsPerTopic, type Published } from './publish.ts';
import type { BacklogRun } from './result.ts';

const pollMs = 50;
/** Without a new document for so long, the connector counts as unable to run. */
const stuckMs = 60_000;

/** Why the connector does not work with these servers. */
export class ConnectorFailed extends Error {
  override name = 'ConnectorFailed';
}

/**
 * Runs the sink connector in a standalone worker on an empty database with the same indexes. The clock starts with
 * the first document seen, so that the start of the JVM is left out, as are the documents of that moment.
 */
export const runConnector = (
  environment: BenchEnvironment,
  libs: string,
  published: Published,
): Promise<BacklogRun> =>
  withScratch(environment, async ({ name, database }) => {
    await ensureIndexes(database);
    const dir = join(environment.dataDir, name);
    const worker = await launchWorker(environment, { libs, dir, name, database, prefix: published.prefix });
    try {
      return await measure(environment, worker, { database, published, logFile: join(dir, 'connect.log') });
    } finally {
      await stopProcess(worker);
    }
  });

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
  // The heap that Kafka's own start script gives it.
  const heap = ['-Xms256M', '-Xmx2G'];
  const main = ['org.apache.kafka.connect.cli.ConnectStandalone', files.worker, files.sink];
  const level = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';
  const [file = '', ...args] = [...tiedToParent(), 'java', ...heap, level, '-cp', join(libs, '*'), ...main];
  const logFile = join(dir, 'connect.log');
  return launch({ name: 'Kafka Connect', file, args, cwd: dir, logFile, stopSignal: 'SIGTERM' });
}

async function measure(
  { storeSeconds }: BenchEnvironment,
  worker: ProcessRecord,
  { database, published, logFile }: { database: Db; published: Published; logFile: string },
): Promise<BacklogRun> {
  const polled = async (isReached: () => Promise<boolean>, describe: string) => {
    const deadline = performance.now() + stuckMs;
    while (!(await isReached())) {
      if (!isRunning(worker) || performance.now() > deadline) {
        throw new ConnectorFailed(`${describe}; its log ends with: ${await endOf(logFile)}`);
      }
      await sleep(pollMs);
    }
  };
  await polled(() => hasAny(database, published), 'wrote nothing');
  const before = { ms: performance.now(), state: processorSeconds(worker.pid), store: storeSeconds() };
  const already = await documentsIn(database);
  await polled(() => hasAll(database, published), 'did not write every document');
  const seconds = (performance.now() - before.ms) / 1_000;
  const store = storeSeconds();
  const documents = await documentsIn(database);
  return {
    records: documents - already,
    documents,
    seconds,
    processorSeconds: processorSeconds(worker.pid) - before.state,
    storeProcessorSeconds: before.store === null || store === null ? null : store - before.store,
    peakMegabytes: peakMegabytes({ pid: worker.pid }),
    writes: documents - already,
  };
}

async function hasAny(database: Db, { lastIds }: Published): Promise<boolean> {
  const collections = [...new Set(lastIds.map(({ kind }) => resources[kind].collection))];
  const found = collections.map((collection) =>
    database.collection(collection).findOne({}, { projection: { _id: 1 } }),
  );
  return (await Promise.all(found)).some((document) => document !== null);
}

/** A task writes the records of a partition in bulks, one after the other: the last one stands for all. */
async function hasAll(database: Db, { lastIds, entities }: Published): Promise<boolean> {
  for (const { kind, id } of lastIds) {
    const collection = database.collection<{ _id: string }>(resources[kind].collection);
    if (!(await collection.findOne({ _id: id }, { projection: { _id: 1 } }))) return false;
  }
  return (await documentsIn(database)) >= entities;
}

const endOf = async (file: string) =>
  (await readFile(file, 'utf8')).trimEnd().split('\n').slice(-5).join(' | ');
