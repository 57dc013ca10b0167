import { kinds } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { topicOf } from '../../../services/projector/events/topics.ts';

type Settings = Record<string, string | number>;

/** As a Java properties file; no value here needs escaping. */
export const properties = (settings: Settings): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

/** A standalone worker: JSON values without a schema, everything else as it comes. */
export const workerSettings = (kafkaBrokers: string, restPort: number, dir: string): Settings => ({
  'bootstrap.servers': kafkaBrokers,
  'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
  'value.converter': 'org.apache.kafka.connect.json.JsonConverter',
  'value.converter.schemas.enable': 'false',
  'offset.storage.file.filename': `${dir}/offsets`,
  listeners: `http://127.0.0.1:${restPort}`,
  // The connector lies on the class path, so no folder of plugins is scanned.
  'plugin.discovery': 'service_load',
});

/**
 * One replacement a record, by the record's key, in unordered bulks: what the connector offers for an upsert of
 * states. It renames what it can, so that documents come near the projector's; sort keys would need code.
 */
export const connectorSettings = (given: {
  name: string;
  mongodbUrl: string;
  database: string;
  prefix: string;
  tasks: number;
}): Settings => {
  const strategy = 'com.mongodb.kafka.connect.sink';
  const transforms = 'org.apache.kafka.connect.transforms';
  const topics = kinds.map((kind) => topicOf(kind, given.prefix));
  const collections = kinds.map((kind): [string, string] => [
    `topic.override.${topicOf(kind, given.prefix)}.collection`,
    resources[kind].collection,
  ]);
  return {
    name: given.name,
    'connector.class': 'com.mongodb.kafka.connect.MongoSinkConnector',
    'tasks.max': given.tasks,
    topics: topics.join(','),
    'connection.uri': withConcern(given.mongodbUrl),
    database: given.database,
    ...Object.fromEntries(collections),
    transforms: 'id,shape',
    'transforms.id.type': `${transforms}.HoistField$Key`,
    'transforms.id.field': '_id',
    'transforms.shape.type': `${transforms}.ReplaceField$Value`,
    'transforms.shape.renames': 'data:own,orgid:orgId,entityversion:version',
    'transforms.shape.exclude': 'specversion,id,source,type,subject,time',
    'document.id.strategy': `${strategy}.processor.id.strategy.ProvidedInKeyStrategy`,
    'writemodel.strategy': `${strategy}.writemodel.strategy.ReplaceOneDefaultStrategy`,
    'bulk.write.ordered': 'false',
  };
};

/** The write concern that every contender has. */
const withConcern = (url: string) => {
  const concerned = new URL(url);
  concerned.searchParams.set('w', 'majority');
  concerned.searchParams.set('journal', 'true');
  return concerned.toString();
};
