import type { Db } from 'mongodb';
import { resources } from '../../../shared/documents/resources.ts';
import { startScript } from '../../../infra/service.ts';
import { countAllDocuments, withScratch, type BenchEnvironment } from '../environment.ts';
import { appliedTo, hasPartitions, serviceSettings, startProjector } from '../processes.ts';
import type { Published } from '../publish.ts';
import type { Column } from '../report.ts';
import { measure, type Usage } from '../usage.ts';

/** One run of one contender over a backlog: its usage from the first record consumed to the last one applied. */
export type BacklogRun = Usage & {
  /** The consumed records. */
  records: number;
  /** Documents in the store afterwards; null if they were not counted. */
  documents: number | null;
  /** From the start of the process to the first record consumed; null if it was not measured. */
  startSeconds: number | null;
};

const perMillion = (seconds: number | null, { records }: BacklogRun) =>
  seconds === null ? null : (seconds / records) * 1e6;
export const recordsPerSecond = ({ records, seconds }: BacklogRun) => records / seconds;
export const fromStart = ({ records, seconds, startSeconds }: BacklogRun) =>
  startSeconds === null ? null : records / (startSeconds + seconds);

export const processorPerMillion = (run: BacklogRun) => perMillion(run.processorSeconds, run);

/** The figures of a backlog, for a table. */
export const backlogColumns: Column<BacklogRun>[] = [
  { title: 'records', figure: ({ records }) => records },
  { title: 'records/s', figure: recordsPerSecond },
  { title: 'processor s per million', figure: processorPerMillion },
  { title: 'of the store', figure: (run) => perMillion(run.storeProcessorSeconds, run) },
  { title: 'peak MB', figure: ({ peakMegabytes }) => peakMegabytes },
];

/** Runs the projector as a process from an empty database, until it has recorded every partition as applied. */
export const runProjector = (
  environment: BenchEnvironment,
  { prefix, records, ends }: Published,
): Promise<BacklogRun> =>
  withScratch(environment, async ({ name, control, database }) => {
    const startedMs = performance.now();
    const projector = startProjector(environment, name, prefix);
    try {
      await hasPartitions(environment, projector, name);
      const startSeconds = (performance.now() - startedMs) / 1_000;
      const usage = await measure(projector, () => appliedTo(control, ends, projector));
      return { ...usage, records, startSeconds, documents: await countAllDocuments(database) };
    } finally {
      await projector.stop();
    }
  });

/** Runs a plain consumer as a process, on an empty database that has the indexes of the API alone. */
export const runBulkWrite = (
  environment: BenchEnvironment,
  { prefix, records }: Published,
): Promise<BacklogRun> =>
  withScratch(environment, async ({ name, database }) => {
    await createListIndexes(database);
    const startedMs = performance.now();
    const settings = serviceSettings(environment, name, prefix);
    const consumer = startScript('tests/bench/projecting/bulk-write-process.ts', settings, [String(records)]);
    try {
      await consumer.logged('consuming');
      const startSeconds = (performance.now() - startedMs) / 1_000;
      const usage = await measure(consumer, () => consumer.logged('consumed'));
      return { ...usage, records, startSeconds, documents: await countAllDocuments(database) };
    } finally {
      await consumer.stop('SIGKILL');
    }
  });

/** The indexes that a projector needs for itself. */
const indexesOfProjector = new Set(['references', 'tombstones', 'pending', 'orphaned']);

async function createListIndexes(database: Db): Promise<void> {
  for (const { collection, indexes } of Object.values(resources)) {
    const ofLists = indexes.filter(({ name = '' }) => !indexesOfProjector.has(name));
    if (ofLists.length > 0) await database.collection(collection).createIndexes(ofLists);
    else await database.createCollection(collection);
  }
}
