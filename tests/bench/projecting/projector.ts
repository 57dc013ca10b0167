import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { progressOf } from '../../../shared/store/generations.ts';
import { peakMegabytes } from '../../support/memory.ts';
import { startService, type Service } from '../../support/service.ts';
import { processorSeconds } from '../processor-time.ts';
import { documentsIn, withScratch, writesIn, type BenchEnvironment } from './environment.ts';
import type { Published } from './publish.ts';
import type { BacklogRun } from './result.ts';

const pollMs = 50;

/** Runs the projector as a process from an empty database, until it has recorded that every partition is applied. */
export const runProjector = (environment: BenchEnvironment, published: Published): Promise<BacklogRun> =>
  withScratch(environment, async ({ name, control, database }) => {
    const projector = startProjectorProcess(environment, name, published.prefix);
    const pid = projector.child.pid ?? 0;
    try {
      await hasPartitions(environment, projector, name);
      const before = {
        ms: performance.now(),
        state: processorSeconds(pid),
        store: environment.storeSeconds(),
      };
      await appliedTo(control, published.ends, projector);
      const seconds = (performance.now() - before.ms) / 1_000;
      const store = environment.storeSeconds();
      return {
        records: published.records,
        seconds,
        processorSeconds: processorSeconds(pid) - before.state,
        storeProcessorSeconds: before.store === null || store === null ? null : store - before.store,
        peakMegabytes: peakMegabytes(projector.child),
        documents: await documentsIn(database),
        writes: await writesIn(database),
      };
    } finally {
      await projector.stop();
    }
  });

export const startProjectorProcess = (
  { kafkaBrokers, mongodbUrl }: Pick<BenchEnvironment, 'kafkaBrokers' | 'mongodbUrl'>,
  name: string,
  prefix: string,
): Service =>
  startService('projector', {
    KAFKA_BROKERS: kafkaBrokers,
    MONGODB_URL: mongodbUrl,
    DATABASE_NAME: name,
    TOPIC_PREFIX: prefix,
    CONSUMER_GROUP: name,
    LOG_LEVEL: 'warn',
  });

/** Resolves when the group has given out its partitions: consumption starts there, and the start of the process is over. */
export async function hasPartitions(
  { admin }: Pick<BenchEnvironment, 'admin'>,
  projector: Service,
  groupId: string,
): Promise<void> {
  const ended = whenEnded(projector);
  for (;;) {
    const { groups } = await Promise.race([admin.describeGroups([groupId]), ended]);
    if (groups[0]?.state === 'Stable') return;
    await Promise.race([sleep(pollMs / 2), ended]);
  }
}

/** Resolves when the projector has recorded these offsets as applied, which it does about once a second. */
export async function appliedTo(control: Db, ends: Map<string, number>, projector: Service): Promise<void> {
  const ended = whenEnded(projector);
  for (;;) {
    const progress = await Promise.race([progressOf(control).find().toArray(), ended]);
    const positions = new Map(
      progress.map(({ topic, partition, position }) => [`${topic}/${partition}`, position]),
    );
    if ([...ends].every(([place, end]) => (positions.get(place) ?? 0) >= end)) return;
    await Promise.race([sleep(pollMs), ended]);
  }
}

/** Rejects when the process ends, with what it said last. */
async function whenEnded({ exited, stderr, log }: Service): Promise<never> {
  const code = await exited;
  throw new Error(`the projector ended with ${code}: ${stderr()}${JSON.stringify(log.at(-1) ?? '')}`);
}
