import { kinds } from '../../shared/documents/document.ts';
import { peakMegabytes } from '../support/memory.ts';
import { createStoreProxy } from '../support/store-proxy.ts';
import { createDataset } from './dataset.ts';
import { withEnvironment, withScratch } from './environment.ts';
import { appliedTo, hasPartitions, startProjector } from './processes.ts';
import { publishDataset } from './publish.ts';

const partitions = 12;
const recordsPerRequest = 6_000;

/** Measures the peak memory of a projector that applies a gzip backlog on 132 partitions to a store that answers late. */
export const benchMemory = ({ records, delay }: { records: number; delay: number }): Promise<void> =>
  withEnvironment(async (environment) => {
    const { prefix, mongodbUrl } = environment;
    const layout = { partitions, recordsPerRequest };
    const { ends } = await publishDataset(environment, createDataset(records), prefix, layout);
    await withScratch(environment, async ({ name, control }) => {
      const { trouble, listen, cut } = createStoreProxy(mongodbUrl);
      const proxied = new URL(mongodbUrl);
      proxied.host = `127.0.0.1:${await listen(0)}`;
      proxied.searchParams.set('directConnection', 'true');
      const projector = startProjector({ ...environment, mongodbUrl: proxied.href }, name, prefix);
      try {
        await hasPartitions(environment, projector, name);
        trouble.delayMs = delay;
        await appliedTo(control, ends, projector);
        process.stdout.write(
          `${records} records, ${partitions * kinds.length} partitions, gzip, a store that answers ${delay} ms late: ` +
            `${Math.round(peakMegabytes(projector))} MB resident at most\n`,
        );
      } finally {
        trouble.delayMs = 0;
        await projector.stop();
        await cut();
      }
    });
  });
