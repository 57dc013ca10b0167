import { ensureIndexes } from '../../../shared/store/indexes.ts';
import { peakMegabytes } from '../../support/memory.ts';
import { startScript } from '../../support/service.ts';
import { documentsIn, withScratch, type BenchEnvironment } from './environment.ts';
import type { Published } from './publish.ts';
import type { BacklogRun } from './result.ts';

/** The strategies of `consumer-process.ts`. */
export type ConsumerStrategy = 'discard' | 'bulk-write' | 'update-one';

/** Above this number of records one write for each message takes too long, so only a tenth is measured. */
const updateOneRecordsMax = 5_000;

/** Runs a plain consumer as a process on an empty database with the same indexes. */
export const runConsumer = (
  environment: BenchEnvironment,
  strategy: ConsumerStrategy,
  { prefix, records: published }: Published,
): Promise<BacklogRun> =>
  withScratch(environment, async ({ name, database }) => {
    await ensureIndexes(database);
    const isPart = strategy === 'update-one' && published > updateOneRecordsMax;
    const count = isPart ? Math.round(published / 10) : published;
    const consumer = startScript(
      'tests/bench/projecting/consumer-process.ts',
      {
        KAFKA_BROKERS: environment.kafkaBrokers,
        MONGODB_URL: environment.mongodbUrl,
        DATABASE_NAME: name,
        TOPIC_PREFIX: prefix,
        CONSUMER_GROUP: name,
      },
      [strategy, String(count)],
    );
    try {
      await consumer.logged('consuming');
      const storeBefore = environment.storeSeconds();
      const { records, seconds, processorSeconds } = await consumer.logged('consumed');
      const storeAfter = environment.storeSeconds();
      const hasStored = strategy !== 'discard';
      return {
        records: Number(records),
        documents: hasStored ? await documentsIn(database) : null,
        seconds: Number(seconds),
        processorSeconds: Number(processorSeconds),
        storeProcessorSeconds: storeBefore === null || storeAfter === null ? null : storeAfter - storeBefore,
        peakMegabytes: peakMegabytes(consumer),
        writes: hasStored ? Number(records) : null,
      };
    } finally {
      await consumer.stop('SIGKILL');
    }
  });
