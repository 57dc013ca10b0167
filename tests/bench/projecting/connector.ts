import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, installedOnce } from '../../../infra/dev-servers/native/cache.ts';
import { fetchJars } from '../../../infra/dev-servers/native/kafka.ts';
import { kafkaVersion, mavenProject } from '../../../infra/dev-servers/native/kafka-settings.ts';
import { freePorts } from '../../../infra/dev-servers/native/ports.ts';
import { java } from '../../../infra/dev-servers/native/prerequisites.ts';
import { startCommand } from '../../../infra/service.ts';
import { kinds, resources } from '../../../shared/documents/resources.ts';
import { topicOf } from '../../../shared/kafka/topics.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { ensureIndexes } from '../../../shared/store/indexes.ts';
import { eventually } from '../../support/eventually.ts';
import { type BenchEnvironment, countAllDocuments, progress, withScratch } from '../environment.ts';
import type { Published } from '../publish.ts';
import { measure } from '../usage.ts';
import type { BacklogRun } from './contenders.ts';

const connectorVersion = '2.0.1';

/** The connector depends on an old Kafka, so the pom names Kafka's parts in the current version. */
const kafkaParts = ['kafka-clients', 'connect-api', 'connect-runtime', 'connect-json', 'connect-transforms'];
const pom = mavenProject('connector', [
  ['org.mongodb.kafka', 'mongo-kafka-connect', connectorVersion],
  ...kafkaParts.map((part): [string, string, string] => ['org.apache.kafka', part, kafkaVersion]),
  // The SLF4J that Kafka Connect is built against.
  ['org.slf4j', 'slf4j-simple', '1.7.36'],
]);

/** The connector counts as unable to run if its first or last document takes longer than this. */
const stuckMs = 60_000;

/** The connector does not work with these servers, or cannot be installed. */
export class ConnectorFailed extends Error {
  override name = 'ConnectorFailed';
}

/**
 * Runs the sink connector in a standalone worker on an empty database with the projector's indexes. The measurement
 * starts when the first document is seen. It excludes the start of the JVM, and the documents present at that moment.
 */
export async function runConnector(environment: BenchEnvironment, published: Published): Promise<BacklogRun> {
  const libs = await install();
  return withScratch(environment, async ({ name, database }) => {
    await ensureIndexes(database);
    const dir = join(environment.dataDir, name);
    await mkdir(dir, { recursive: true });
    const [restPort = 0] = await freePorts(1);
    const files = [join(dir, 'worker.properties'), join(dir, 'sink.properties')] as const;
    await writeProperties(files[0], workerSettings(environment, restPort, dir));
    await writeProperties(files[1], sinkSettings(environment, name, database.databaseName));
    // The heap of Kafka's start script.
    const java = ['java', '-Xms256M', '-Xmx2G', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'];
    const main = ['-cp', join(libs, '*'), 'org.apache.kafka.connect.cli.ConnectStandalone', ...files];
    const worker = startCommand([...java, ...main], {}, 'Kafka Connect');
    const until = (isReached: () => Promise<boolean>, failure: string) => {
      const deadline = performance.now() + stuckMs;
      const hasFailed = () => worker.failures().length > 0 || performance.now() > deadline;
      const lastLines = () => worker.stderr().trimEnd().split('\n').slice(-5).join(' | ');
      const error = () => new ConnectorFailed(`${failure}; its log ends with: ${lastLines()}`);
      return eventually(isReached, () => (hasFailed() ? [error()] : []), { limitMs: Infinity });
    };
    try {
      let present = 0;
      await until(async () => (present = await countAllDocuments(database)) > 0, 'wrote nothing');
      let documents = 0;
      const isComplete = async () => (documents = await countAllDocuments(database)) >= published.records;
      const work = () => until(isComplete, 'did not write every document');
      const usage = await measure(worker, work, environment.mongo);
      // The traffic of the store would include the counts of documents.
      return { ...usage, commands: null, bytes: null, records: documents - present, documents };
    } finally {
      await worker.stop('SIGKILL');
    }
  });
}

/** Downloads the jars unless they are cached; returns their folder. */
async function install(): Promise<string> {
  const folder = join(cacheDir(), `mongo-kafka-connect-${connectorVersion}-${kafkaVersion}`);
  if (!(await java.present())) throw new ConnectorFailed(`needs ${java.what}`);
  try {
    await installedOnce(folder, async (partial) => {
      progress(`MongoDB's Kafka connector ${connectorVersion}: fetching about 38 MB`);
      await fetchJars(pom, partial);
    });
  } catch (error) {
    throw new ConnectorFailed(`could not be fetched by Maven: ${errorMessage(error)}`);
  }
  return join(folder, 'libs');
}

type Settings = Record<string, string | number>;

/** Writes a Java properties file; no value here needs escaping. */
const writeProperties = (file: string, settings: Settings): Promise<void> =>
  writeFile(
    file,
    Object.entries(settings).map(([name, value]) => `${name}=${value}\n`),
  );

/** A standalone worker: JSON values without a schema, every other setting at its default. */
const workerSettings = ({ kafkaBrokers }: BenchEnvironment, restPort: number, dir: string): Settings => ({
  'bootstrap.servers': kafkaBrokers,
  'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
  'value.converter': 'org.apache.kafka.connect.json.JsonConverter',
  'value.converter.schemas.enable': 'false',
  'offset.storage.file.filename': `${dir}/offsets`,
  listeners: `http://127.0.0.1:${restPort}`,
  // The connector is on the class path, so the worker scans no plugin folder.
  'plugin.discovery': 'service_load',
});

/**
 * One replacement for each record, by its key, in unordered bulk writes: the connector's way to upsert states. It
 * renames fields, so that documents resemble the projector's; sort keys would need code.
 */
function sinkSettings(
  { mongodbUrl, prefix, topics }: BenchEnvironment,
  name: string,
  database: string,
): Settings {
  const strategy = 'com.mongodb.kafka.connect.sink';
  const transforms = 'org.apache.kafka.connect.transforms';
  const collections = kinds.map((kind): [string, string] => [
    `topic.override.${topicOf(kind, prefix)}.collection`,
    resources[kind].collection,
  ]);
  // The write concern of every contender.
  const url = new URL(mongodbUrl);
  url.searchParams.set('w', 'majority');
  url.searchParams.set('journal', 'true');
  return {
    name,
    'connector.class': 'com.mongodb.kafka.connect.MongoSinkConnector',
    // As many as partitions of a topic.
    'tasks.max': 3,
    topics: topics.join(','),
    'connection.uri': url.href,
    database,
    ...Object.fromEntries(collections),
    transforms: 'id,shape',
    'transforms.id.type': `${transforms}.HoistField$Key`,
    'transforms.id.field': '_id',
    'transforms.shape.type': `${transforms}.ReplaceField$Value`,
    'transforms.shape.renames': 'data:state,orgid:orgId,entityversion:version',
    'transforms.shape.exclude': 'specversion,id,source,type,subject,time',
    'document.id.strategy': `${strategy}.processor.id.strategy.ProvidedInKeyStrategy`,
    'writemodel.strategy': `${strategy}.writemodel.strategy.ReplaceOneDefaultStrategy`,
    'bulk.write.ordered': 'false',
  };
}
