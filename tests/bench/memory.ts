import { CompressionTypes } from 'kafkajs';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { kinds } from '../../shared/documents/document.ts';
import { peakMegabytes } from '../support/memory.ts';
import { logEnds } from '../support/progress.ts';
import { createStoreProxy } from '../support/store-proxy.ts';
import { countsFor, createDataset, fullRecords, recordOf } from './dataset.ts';
import { progress, withEnvironment, withScratch, type BenchEnvironment } from './environment.ts';
import { appliedTo, hasPartitions, startProjectorProcess } from './projecting/projector.ts';

const partitionsPerTopic = 12;
const recordsPerRequest = 6_000;

/** Measures the peak memory of a projector that applies a gzip backlog on 132 partitions to a store that answers late. */
export async function benchMemory({ records, delay }: { records: number; delay: number }): Promise<void> {
  await withEnvironment(async (environment) => {
    await publish(environment, records);
    const megabytes = await runProjector(environment, delay);
    process.stdout.write(
      `${records} records, ${partitionsPerTopic * kinds.length} partitions, gzip, a store that answers ${delay} ms late: ` +
        `${Math.round(megabytes)} MB resident at most\n`,
    );
  });
}

async function publish({ admin, producer, prefix }: BenchEnvironment, records: number): Promise<void> {
  const dataset = createDataset({ seed: 1, organizations: 3, counts: countsFor(records / fullRecords, 3) });
  await createTopics(admin, prefix, partitionsPerTopic);
  for (const kind of kinds) {
    const count = dataset.counts[kind];
    for (let from = 0; from < count; from += recordsPerRequest) {
      const length = Math.min(recordsPerRequest, count - from);
      const messages = Array.from({ length }, (_, index) => recordOf(dataset.event(kind, from + index)));
      await producer.send({ topic: topicOf(kind, prefix), messages, compression: CompressionTypes.GZIP });
    }
    progress(`published ${count} of ${kind}`);
  }
}

/** The peak memory of a projector that applies everything, in megabytes. */
const runProjector = (environment: BenchEnvironment, delayMs: number): Promise<number> =>
  withScratch(environment, async ({ name, control }) => {
    const { prefix, admin, mongodbUrl } = environment;
    const { trouble, listen, cut } = createStoreProxy(mongodbUrl);
    const proxied = new URL(mongodbUrl);
    proxied.host = `127.0.0.1:${await listen(0)}`;
    proxied.searchParams.set('directConnection', 'true');
    const projector = startProjectorProcess({ ...environment, mongodbUrl: proxied.href }, name, prefix);
    try {
      await hasPartitions(environment, projector, name);
      trouble.delayMs = delayMs;
      await appliedTo(
        control,
        await logEnds(
          admin,
          kinds.map((kind) => topicOf(kind, prefix)),
        ),
        projector,
      );
      return peakMegabytes(projector);
    } finally {
      trouble.delayMs = 0;
      await projector.stop();
      await cut();
    }
  });
