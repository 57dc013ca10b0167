import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, installOnce } from '../../../infra/dev-servers/native/cache.ts';
import { fetchJars } from '../../../infra/dev-servers/native/kafka.ts';
import { kafkaVersion, mavenProject } from '../../../infra/dev-servers/native/kafka-settings.ts';
import { freePort } from '../../../infra/dev-servers/native/ports.ts';
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

/** The connector depends on an old Kafka, so the pom names the artifacts of Kafka in the current version. */
const kafkaArtifacts = [
  'kafka-clients',
  'connect-api',
  'connect-runtime',
  'connect-json',
  'connect-transforms',
];
const pom = mavenProject('connector', [
  ['org.mongodb.kafka', 'mongo-kafka-connect', connectorVersion],
  ...kafkaArtifacts.map((name): [string, string, string] => ['org.apache.kafka', name, kafkaVersion]),
  // The SLF4J that Kafka Connect is built against.
  ['org.slf4j', 'slf4j-simple', '1.7.36'],
]);

/** The benchmark leaves out a connector whose first or last document takes longer than this. */
const stuckMs = 60_000;

/** Thrown if the connector does not work with these servers, or cannot be installed. */
export class ConnectorFailed extends Error {
  override name = 'ConnectorFailed';
}

/**
 * Runs the sink connector in a standalone worker on an empty database with the projector's indexes. The measurement
 * starts when the benchmark finds the first documents. It excludes the start of the JVM and these documents.
 */
export async function runConnector(environment: BenchEnvironment, published: Published): Promise<BacklogRun> {
  const libs = await install();
  return withScratch(environment, async ({ name, database }) => {
    await ensureIndexes(database);
    const dir = join(environment.dataDir, name);
    await mkdir(dir, { recursive: true });
    const restPort = await freePort();
    const workerFile = join(dir, 'worker.properties');
    const sinkFile = join(dir, 'sink.properties');
    await writeProperties(workerFile, workerSettings(environment, restPort, dir));
    await writeProperties(sinkFile, sinkSettings(environment, name, database.databaseName));
    // The heap of Kafka's start script.
    const jvm = ['java', '-Xms256M', '-Xmx2G', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'];
    const main = ['-cp', join(libs, '*'), 'org.apache.kafka.connect.cli.ConnectStandalone'];
    const worker = startCommand([...jvm, ...main, workerFile, sinkFile], {}, 'Kafka Connect');
    const until = (isReached: () => Promise<boolean>, failure: string) => {
      const deadline = performance.now() + stuckMs;
      const hasFailed = () => worker.failures().length > 0 || performance.now() > deadline;
      const lastLines = () => worker.stderr().trimEnd().split('\n').slice(-5).join(' | ');
      const error = () => new ConnectorFailed(`${failure}; its log ends with: ${lastLines()}`);
      return eventually(isReached, () => (hasFailed() ? [error()] : []), { limitMs: Infinity });
    };
    try {
      let documents = 0;
      const hasWritten = async (wanted: number) => {
        documents = await countAllDocuments(database);
        return documents >= wanted;
      };
      await until(() => hasWritten(1), 'wrote nothing');
      const firstDocuments = documents;
      const work = () => until(() => hasWritten(published.records), 'did not write every document');
      const usage = await measure(worker, work, environment.mongo);
      // The traffic of the store would include the counts of documents above.
      return { ...usage, commands: null, bytes: null, records: documents - firstDocuments, documents };
    } finally {
      await worker.stop('SIGKILL');
    }
  });
}

/** Downloads the jars unless they are in the cache, and returns their folder. */
async function install(): Promise<string> {
  const folder = join(cacheDir(), `mongo-kafka-connect-${connectorVersion}-${kafkaVersion}`);
  if (!(await java.present())) throw new ConnectorFailed(`needs ${java.what}`);
  try {
    await installOnce(folder, async (partial) => {
      progress(`MongoDB's Kafka connector ${connectorVersion}: fetching about 38 MB`);
      await fetchJars(pom, partial);
    });
  } catch (error) {
    throw new ConnectorFailed(`could not be fetched by Maven: ${errorMessage(error)}`);
  }
  return join(folder, 'libs');
}

type Settings = Record<string, string | number>;

/** Writes a Java properties file. None of the values needs an escape. */
const writeProperties = (file: string, settings: Settings): Promise<void> =>
  writeFile(
    file,
    Object.entries(settings).map(([name, value]) => `${name}=${value}\n`),
  );

/** The settings of a standalone worker for JSON values without a schema. Every other setting has its default. */
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
 * The settings of the sink. The connector upserts states by a replacement for each record, in unordered bulk writes. It
 * renames fields to resemble the projector's documents, but has no sort keys because these would need code.
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
    // A task for each partition of a topic.
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
