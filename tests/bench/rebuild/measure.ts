import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { collectionOf, generationDatabase } from '../../../shared/store/connection.ts';
import { recordedPositions } from '../../../services/projector/consumer/progress.ts';
import { peakMegabytes } from '../../support/memory.ts';
import { logEnds } from '../../support/progress.ts';
import { processorSeconds } from '../processor-time.ts';
import { runBulkWrite } from '../projecting/bulk-write.ts';
import { documentsIn, type BenchEnvironment } from '../projecting/environment.ts';
import { publishLive } from '../projecting/live.ts';
import { appliedTo, hasPartitions, startProjectorProcess } from '../projecting/projector.ts';
import type { BacklogRun } from '../projecting/result.ts';
import type { LiveSide } from './live-side.ts';
import { readDuring } from './reader.ts';
import type { BesideRun, Disk, OneByOneRun, RebuildRun } from './result.ts';

/** The unguarded `bulkWrite` consumes the same topics, beside the live side. */
export const runBulkWriteBeside = (
  environment: BenchEnvironment,
  side: LiveSide,
  beforeMs: number,
): Promise<BesideRun> => beside(side, beforeMs, () => runBulkWrite(environment, side.published));

/**
 * Builds generation 2 with one projector, as an operator does, until it has recorded the log's ends of its start as
 * applied. Then it is compared with generation 1, document by document: rejects if one differs.
 */
export async function runRebuild(
  environment: BenchEnvironment,
  side: LiveSide,
  beforeMs: number,
): Promise<RebuildRun> {
  const { admin, mongo } = environment;
  const { scratch, published, cli } = side;
  const { name, control, database } = scratch;
  await cli('rebuild', 'start', '--why', 'the benchmark');
  const ends = await logEnds(admin, published.topics);
  const records = [...ends.values()].reduce((sum, end) => sum + end, 0);
  const build = generationDatabase(mongo, name, 2);
  const started: { projector?: ReturnType<typeof startProjectorProcess> } = {};
  try {
    const run = await beside(side, beforeMs, async () => {
      const projector = (started.projector = startProjectorProcess(environment, name, published.prefix, 2));
      const { pid } = projector;
      await hasPartitions(environment, projector, `${name}_g2`);
      const storeBefore = environment.storeSeconds();
      const before = { ms: performance.now(), processor: processorSeconds(pid) };
      await appliedTo(control, ends, projector, 2);
      const seconds = (performance.now() - before.ms) / 1_000;
      const store = environment.storeSeconds();
      return {
        ...{ records, startSeconds: null, seconds, documents: null },
        processorSeconds: processorSeconds(pid) - before.processor,
        storeProcessorSeconds: storeBefore === null || store === null ? null : store - storeBefore,
        peakMegabytes: peakMegabytes(projector),
      };
    });
    const liveBehind = await recordsBehind(environment, side);
    const stored = { documents: await documentsIn(build) };
    const disk = await diskOf(database, build);
    await cli('rebuild', 'await', '2', '--timeout', '120');
    const verifyingMs = performance.now();
    const { compared } = await cli('rebuild', 'verify', '2');
    const verifySeconds = (performance.now() - verifyingMs) / 1_000;
    return { ...run, ...stored, liveBehind, disk, verified: Number(compared), verifySeconds };
  } finally {
    await started.projector?.stop();
  }
}

/** Reads the list before `work` for some time, and while it runs. */
async function beside(
  { target }: LiveSide,
  beforeMs: number,
  work: () => Promise<BacklogRun>,
): Promise<BesideRun> {
  const before = await readDuring(target, () => sleep(beforeMs));
  const during = await readDuring(target, work);
  return { ...during.result, beforeMs: before.latenciesMs, duringMs: during.latenciesMs };
}

/** The number of records that generation 1 has not recorded as applied; it records once a second. */
async function recordsBehind({ admin }: BenchEnvironment, { scratch, published }: LiveSide): Promise<number> {
  const ends = await logEnds(admin, published.topics);
  const positions = await recordedPositions(scratch.control, 1);
  return [...ends].reduce((sum, [key, end]) => sum + Math.max(0, end - (positions.get(key) ?? 0)), 0);
}

/** What both generations occupy once the build is complete; null if the store does not report it. */
async function diskOf(served: Db, build: Db): Promise<Disk | null> {
  const [servedMegabytes, buildMegabytes] = await Promise.all([served, build].map(megabytesOf));
  return servedMegabytes && buildMegabytes ? { servedMegabytes, buildMegabytes } : null;
}

async function megabytesOf(database: Db): Promise<number> {
  const { storageSize = 0, indexSize = 0 } = (await database.command({ dbStats: 1 })) as {
    storageSize?: number;
    indexSize?: number;
  };
  return (storageSize + indexSize) / 1_048_576;
}

/**
 * Publishes one live event at a time to the projector of generation 1, each once the last one is readable in the store,
 * so that each is a batch of its own.
 */
export async function runOneByOne(
  { producer }: BenchEnvironment,
  { scratch, published, nextEvent }: LiveSide,
  ms: number,
): Promise<OneByOneRun> {
  const startMs = performance.now();
  let events = 0;
  while (performance.now() - startMs < ms) {
    const { kind, id, version } = await publishLive({ producer, published, nextEvent }, 1);
    const filter = { _id: id, version: { $gte: version } };
    while (!(await collectionOf(scratch.database, kind).findOne(filter, { projection: { _id: 1 } })));
    events += 1;
  }
  return { events, seconds: (performance.now() - startMs) / 1_000 };
}
