import type { Db } from 'mongodb';
import { eventually } from '../../support/eventually.ts';
import { peakMegabytes } from '../../support/memory.ts';
import { reached, type Offsets } from '../../support/progress.ts';
import { startService, type Service } from '../../support/service.ts';
import { processorSeconds } from '../processor-time.ts';
import { documentsIn, withScratch, type BenchEnvironment } from '../environment.ts';
import type { Published } from '../publish.ts';
import type { BacklogRun } from './backlog.ts';

/** Runs the projector as a process from an empty database, until it has recorded every partition as applied. */
export const runProjector = (environment: BenchEnvironment, published: Published): Promise<BacklogRun> =>
  withScratch(environment, async ({ name, control, database }) => {
    const startedMs = performance.now();
    const projector = startProjectorProcess(environment, name, published.prefix);
    const { pid } = projector;
    try {
      await hasPartitions(environment, projector, name);
      const before = {
        ms: performance.now(),
        processor: processorSeconds(pid),
        store: environment.storeSeconds(),
      };
      await appliedTo(control, published.ends, projector);
      const seconds = (performance.now() - before.ms) / 1_000;
      const store = environment.storeSeconds();
      return {
        records: published.records,
        startSeconds: (before.ms - startedMs) / 1_000,
        seconds,
        processorSeconds: processorSeconds(pid) - before.processor,
        storeProcessorSeconds: before.store === null || store === null ? null : store - before.store,
        peakMegabytes: peakMegabytes(projector),
        documents: await documentsIn(database),
      };
    } finally {
      await projector.stop();
    }
  });

export const startProjectorProcess = (
  { kafkaBrokers, mongodbUrl }: Pick<BenchEnvironment, 'kafkaBrokers' | 'mongodbUrl'>,
  name: string,
  prefix: string,
  generation = 1,
): Service =>
  startService('projector', {
    KAFKA_BROKERS: kafkaBrokers,
    MONGODB_URL: mongodbUrl,
    DATABASE_NAME: name,
    TOPIC_PREFIX: prefix,
    CONSUMER_GROUP: name,
    GENERATION: String(generation),
    LOG_LEVEL: 'warn',
  });

/** Resolves when the group has assigned its partitions: the process has started, and consumption begins. */
export const hasPartitions = (
  { admin }: Pick<BenchEnvironment, 'admin'>,
  projector: Service,
  groupId: string,
): Promise<void> =>
  eventually(
    async () => (await admin.describeGroups([groupId])).groups[0]?.state === 'Stable',
    () => exitOf(projector),
    25,
  );

/** Resolves when the projector has recorded these offsets as applied; rejects when its process ends first. */
export const appliedTo = (control: Db, ends: Offsets, projector: Service, generation = 1): Promise<void> =>
  reached(control, ends, () => exitOf(projector), generation);

/** The end of the process as an error, with the last lines that it wrote; none while it runs. */
const exitOf = ({ child: { exitCode, signalCode }, stderr, log }: Service): Error[] =>
  exitCode === null && signalCode === null
    ? []
    : [
        new Error(
          `the projector ended with ${exitCode ?? signalCode}: ${stderr()}${JSON.stringify(log.at(-1) ?? '')}`,
        ),
      ];
