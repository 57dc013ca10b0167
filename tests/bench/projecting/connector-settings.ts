import { kinds } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { topicOf } from '../../../services/projector/events/topics.ts';

type Settings = Record<string, string | number>;

/** The text of a Java properties file; no value here needs escaping. */
export const properties = (settings: Settings): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

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
export const connectorSettings = (sink: {
  name: string;
  mongodbUrl: string;
  database: string;
  prefix: string;
  tasks: number;
}): Settings => {
  const strategy = 'com.mongodb.kafka.connect.sink';
  const transforms = 'org.apache.kafka.connect.transforms';
  const topics = kinds.map((kind) => topicOf(kind, sink.prefix));
  const collections = kinds.map((kind): [string, string] => [
    `topic.override.${topicOf(kind, sink.prefix)}.collection`,
    resources[kind].collection,
  ]);
  return {
    name: sink.name,
    'connector.class': 'com.mongodb.kafka.connect.MongoSinkConnector',
    'tasks.max': sink.tasks,
    topics: topics.join(','),
    'connection.uri': withConcern(sink.mongodbUrl),
    database: sink.database,
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
};

/** The write concern of every contender. */
const withConcern = (url: string) => {
  const concerned = new URL(url);
  concerned.searchParams.set('w', 'majority');
  concerned.searchParams.set('journal', 'true');
  return concerned.toString();
};
