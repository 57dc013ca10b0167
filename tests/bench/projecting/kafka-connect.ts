import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, installedOnce } from '../../../infra/dev-servers/native/cache.ts';
import { fetchJars } from '../../../infra/dev-servers/native/kafka.ts';
import { kafkaVersion, mavenProject } from '../../../infra/dev-servers/native/kafka-settings.ts';
import { javaVersion } from '../../../infra/dev-servers/native/prerequisites.ts';
import { run } from '../../../infra/dev-servers/native/run.ts';
import { kinds } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { topicOf } from '../../../services/projector/events/topics.ts';
import { progress, type BenchEnvironment } from '../environment.ts';

const connectorVersion = '2.0.1';

/** The connector depends on an old Kafka, so the pom names Kafka's parts in the current version. */
const kafkaParts = ['kafka-clients', 'connect-api', 'connect-runtime', 'connect-json', 'connect-transforms'];
const pom = mavenProject('connector', [
  ['org.mongodb.kafka', 'mongo-kafka-connect', connectorVersion],
  ...kafkaParts.map((part): [string, string, string] => ['org.apache.kafka', part, kafkaVersion]),
  // The SLF4J that Kafka Connect is built against.
  ['org.slf4j', 'slf4j-simple', '1.7.36'],
]);

/** Downloads the jars unless they are cached. Returns their folder, or a clause that says why the connector cannot run. */
export async function installConnector(): Promise<{ libs: string } | { unavailable: string }> {
  const folder = join(cacheDir(), `mongo-kafka-connect-${connectorVersion}-${kafkaVersion}`);
  if (javaVersion((await run('java', ['-version'])).output) < 17) return { unavailable: 'needs Java ≥ 17' };
  try {
    await installedOnce(folder, async (partial) => {
      progress(`MongoDB's Kafka connector ${connectorVersion}: fetching about 38 MB`);
      await fetchJars(pom, partial);
    });
  } catch (error) {
    return { unavailable: `could not be fetched by Maven: ${errorMessage(error)}` };
  }
  return { libs: join(folder, 'libs') };
}

type Settings = Record<string, string | number>;

/** Writes a Java properties file; no value here needs escaping. */
export const writeProperties = (file: string, settings: Settings): Promise<void> =>
  writeFile(
    file,
    Object.entries(settings).map(([name, value]) => `${name}=${value}\n`),
  );

/** A standalone worker: JSON values without a schema, every other setting at its default. */
export const workerSettings = (kafkaBrokers: string, restPort: number, dir: string): Settings => ({
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
 * One replacement for each record, by its key, in unordered bulk writes: the connector's way to upsert states. It renames
 * fields, so that documents resemble the projector's; sort keys would need code.
 */
export function sinkSettings(
  { mongodbUrl }: BenchEnvironment,
  { name, database, prefix, tasks }: { name: string; database: string; prefix: string; tasks: number },
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
    'tasks.max': tasks,
    topics: kinds.map((kind) => topicOf(kind, prefix)).join(','),
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
