import type { Db } from 'mongodb';
import { resources } from '../../../shared/documents/resources.ts';
import { peakMegabytes } from '../../support/memory.ts';
import { startScript } from '../../support/service.ts';
import { documentsIn, withScratch, type BenchEnvironment } from '../environment.ts';
import type { Published } from '../publish.ts';
import type { BacklogRun } from './backlog.ts';

/** The indexes that a projector needs for itself. */
const indexesOfProjector = new Set(['references', 'tombstones', 'pending', 'orphaned']);

/** Runs a plain consumer as a process, on an empty database that has the indexes of the API alone. */
export const runBulkWrite = (
  environment: BenchEnvironment,
  { prefix, records }: Published,
): Promise<BacklogRun> =>
  withScratch(environment, async ({ name, database }) => {
    await createListIndexes(database);
    const startedMs = performance.now();
    const consumer = startScript(
      'tests/bench/projecting/bulk-write-process.ts',
      {
        KAFKA_BROKERS: environment.kafkaBrokers,
        MONGODB_URL: environment.mongodbUrl,
        DATABASE_NAME: name,
        TOPIC_PREFIX: prefix,
        CONSUMER_GROUP: name,
      },
      [String(records)],
    );
    try {
      await consumer.logged('consuming');
      const startSeconds = (performance.now() - startedMs) / 1_000;
      const storeBefore = environment.storeSeconds();
      const { seconds, processorSeconds } = await consumer.logged('consumed');
      const storeAfter = environment.storeSeconds();
      return {
        records,
        documents: await documentsIn(database),
        startSeconds,
        seconds: Number(seconds),
        processorSeconds: Number(processorSeconds),
        storeProcessorSeconds: storeBefore === null || storeAfter === null ? null : storeAfter - storeBefore,
        peakMegabytes: peakMegabytes(consumer),
      };
    } finally {
      await consumer.stop('SIGKILL');
    }
  });

async function createListIndexes(database: Db): Promise<void> {
  for (const { collection, indexes } of Object.values(resources)) {
    const ofLists = indexes.filter(({ name = '' }) => !indexesOfProjector.has(name));
    if (ofLists.length > 0) await database.collection(collection).createIndexes(ofLists);
    else await database.createCollection(collection);
  }
}
