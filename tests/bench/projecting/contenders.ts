import type { Db } from 'mongodb';
import { type Service, startScript, startService } from '../../../infra/service.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { eventually } from '../../support/eventually.ts';
import { type Offsets, reached } from '../../support/progress.ts';
import { type BenchEnvironment, countAllDocuments, withScratch } from '../environment.ts';
import type { Published } from '../publish.ts';
import { measure, type Usage } from '../usage.ts';

/** One run of a contender over a backlog. The usage is that from the first consumed record to the last applied one. */
export type BacklogRun = Usage & { records: number; documents: number };

/** A contender is a process with an empty database. */
type Contender = {
  prepare: (database: Db) => Promise<unknown>;
  start: (settings: Record<string, string>, published: Published) => Service;
  untilConsuming: (environment: BenchEnvironment, service: Service, group: string) => Promise<unknown>;
  untilApplied: (control: Db, service: Service, ends: Offsets) => Promise<unknown>;
};

const projector: Contender = {
  prepare: () => Promise.resolve(),
  start: (settings) => startService('projector', { ...settings, LOG_LEVEL: 'warn' }),
  // The projector begins to consume once the group has assigned its partitions.
  untilConsuming: ({ admin }, service, group) =>
    eventually(
      async () => (await admin.describeGroups([group])).groups[0]?.state === 'Stable',
      service.failures,
      { limitMs: 120_000, pollMs: 25 },
    ),
  untilApplied: (control, service, ends) =>
    reached(control, ends, service.failures, 1, { limitMs: Infinity }),
};

/** A plain consumer on a database with only the indexes of the API. */
const bulkWrite: Contender = {
  prepare: createListIndexes,
  start: (settings, { records }) =>
    startScript('tests/bench/projecting/bulk-write-process.ts', settings, [String(records)]),
  untilConsuming: (_environment, service) => service.logged('consuming'),
  untilApplied: (_control, service) => service.logged('consumed'),
};

const contenders = { 'bulk-write': bulkWrite, projector };

export const runBacklog = (
  environment: BenchEnvironment,
  name: keyof typeof contenders,
  published: Published,
): Promise<BacklogRun> =>
  withScratch(environment, async ({ name: group, control, database }) => {
    const { prepare, start, untilConsuming, untilApplied } = contenders[name];
    await prepare(database);
    const settings = {
      KAFKA_BROKERS: environment.kafkaBrokers,
      MONGODB_URL: environment.mongodbUrl,
      TOPIC_PREFIX: environment.prefix,
      DATABASE_NAME: group,
      CONSUMER_GROUP: group,
    };
    const service = start(settings, published);
    try {
      await untilConsuming(environment, service, group);
      const work = () => untilApplied(control, service, published.ends);
      const usage = await measure(service, work, environment.mongo);
      return { ...usage, records: published.records, documents: await countAllDocuments(database) };
    } finally {
      await service.stop();
    }
  });

/** The indexes that only the projector reads. */
const indexesOfProjector = new Set(['references', 'expiry', 'pending', 'orphaned', 'channel']);

async function createListIndexes(database: Db): Promise<void> {
  for (const { collection, indexes } of Object.values(resources)) {
    const listIndexes = indexes.filter(({ name = '' }) => !indexesOfProjector.has(name));
    if (listIndexes.length > 0) await database.collection(collection).createIndexes(listIndexes);
    else await database.createCollection(collection);
  }
}
