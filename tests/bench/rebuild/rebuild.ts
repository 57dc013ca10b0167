import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { recordedPositions } from '../../../services/projector/consumer/progress.ts';
import { collectionOf, generationDatabase } from '../../../shared/store/connection.ts';
import { peakMegabytes } from '../../support/memory.ts';
import { logEnds } from '../../support/progress.ts';
import type { Service } from '../../support/service.ts';
import { countsFor, createDataset, fullRecords } from '../dataset.ts';
import { documentsIn, progress, withEnvironment, type BenchEnvironment } from '../environment.ts';
import { atLeast, atMost } from '../goal.ts';
import { formatted } from '../markdown.ts';
import { processorSeconds } from '../processor-time.ts';
import { backlogColumns, recordsPerSecond, type BacklogRun } from '../projecting/backlog.ts';
import { runBulkWrite } from '../projecting/bulk-write.ts';
import { publishLive } from '../projecting/live.ts';
import { appliedTo, hasPartitions, runProjector, startProjectorProcess } from '../projecting/projector.ts';
import { publishDataset } from '../publish.ts';
import { publish, ratioOf, tableOf, type Column, type ReportOptions } from '../report.ts';
import { percentile, spreadOf } from '../statistics.ts';
import { withLiveSide, type LiveSide } from './live-side.ts';
import { readDuring } from './reader.ts';

/** A run, with the times of the reader's requests before and during a run beside the live side, in milliseconds. */
type Run = BacklogRun & { beforeMs?: number[]; duringMs?: number[] };

type RebuildRun = Run & {
  /** Records that the live side had not recorded as applied when the build was complete. */
  liveLag: number;
  /** The size of documents and indexes of each generation; null if the store does not report it. */
  servedMegabytes: number | null;
  buildMegabytes: number | null;
  /** The documents that `rebuild compare` compared, and its time. */
  verified: number;
  verifySeconds: number;
};

type OneByOne = { events: number; seconds: number };

const titles = {
  'bulk-write': 'kafkajs `eachBatch` + unguarded `bulkWrite`, no joins, nothing beside it',
  'bulk-write-beside': 'the same, beside the live side',
  projector: 'this projector, all joins, nothing beside it',
  rebuild: 'a rebuild: this projector, all joins, beside the live side',
} as const;

/** The runs of all rounds. */
export type Rebuild = { rebuild: RebuildRun[]; 'one-by-one': OneByOne[] } & Record<
  Exclude<keyof typeof titles, 'rebuild'>,
  Run[]
>;

const fullSize = { records: fullRecords, warmMs: 4_000, beforeMs: 10_000, oneByOneMs: 8_000 };
const quickSize = { records: 2_300, warmMs: 1_000, beforeMs: 2_000, oneByOneMs: 1_000 };

/** Pause between two runs, so that the store's remaining work for one does not slow the next. */
const pauseMs = 1_000;

/** Measures a rebuild beside a generation that is served and follows live changes. */
export async function benchRebuild(options: ReportOptions & { records?: number }): Promise<void> {
  const startedAt = new Date().toISOString();
  const { quick, rounds, records } = options;
  const size = { ...(quick ? quickSize : fullSize), ...(records !== undefined && { records }) };
  await withEnvironment(async (environment) => {
    const measured: Rebuild = {
      ...{ 'bulk-write': [], 'bulk-write-beside': [], projector: [], rebuild: [], 'one-by-one': [] },
    };
    for (let round = 0; round < rounds; round += 1) {
      progress(`round ${round + 1} of ${rounds}`);
      await measureRound(environment, size, round, measured);
    }
    const { machine } = environment;
    const report = { benchmark: 'rebuild', startedAt, rounds, machine, measured, goals: goalsOf(measured) };
    await publish(report, partsOf(measured), options, 'docs/benchmarks-rebuild.md');
  });
}

async function measureRound(
  environment: BenchEnvironment,
  { records, warmMs, beforeMs, oneByOneMs }: typeof fullSize,
  round: number,
  measured: Rebuild,
): Promise<void> {
  const organizations = 3;
  // The same seed each time: every round has the same records.
  const counts = countsFor(records / fullRecords, organizations);
  const dataset = createDataset({ seed: 1, organizations, counts });
  const published = await publishDataset(environment, dataset, `${environment.prefix}${round}.`);
  /** The runs of a pair take turns in going first. */
  const inTurn = async (...runs: (() => Promise<void>)[]) => {
    for (const run of round % 2 === 1 ? runs.toReversed() : runs) {
      await run();
      await sleep(pauseMs);
    }
  };
  const into = async <T extends { seconds: number }>(name: string, runs: T[], run: Promise<T>) => {
    progress(`${name}…`);
    runs.push(await run);
    progress(`${name}: ${runs.at(-1)?.seconds.toFixed(1)} s`);
  };
  await inTurn(
    () => into('bulk-write', measured['bulk-write'], runBulkWrite(environment, published)),
    () => into('projector', measured.projector, runProjector(environment, published)),
  );
  await withLiveSide(environment, published, async (side) => {
    await readDuring(side.target, () => sleep(warmMs));
    const besideBulkWrite = () => beside(side, beforeMs, () => runBulkWrite(environment, published));
    await inTurn(
      () => into('bulk-write-beside', measured['bulk-write-beside'], besideBulkWrite()),
      () => into('rebuild', measured.rebuild, runRebuild(environment, side, beforeMs)),
    );
    await side.stopTraffic();
    await sleep(pauseMs);
    await into('one-by-one', measured['one-by-one'], runOneByOne(environment, side, oneByOneMs));
  });
}

/**
 * Builds generation 2 with one projector, as an operator does, until it has recorded the log's ends of its start as
 * applied. Then it is compared with generation 1, document by document: rejects if one differs.
 */
async function runRebuild(
  environment: BenchEnvironment,
  side: LiveSide,
  beforeMs: number,
): Promise<RebuildRun> {
  const { admin, mongo } = environment;
  const { scratch, published, cli } = side;
  const { name, control, database } = scratch;
  await cli('rebuild', 'start', '--why', 'the benchmark');
  const ends = await logEnds(admin, published.topics);
  const build = generationDatabase(mongo, name, 2);
  const started: { projector?: Service } = {};
  try {
    const run = await beside(side, beforeMs, async () => {
      const projector = (started.projector = startProjectorProcess(environment, name, published.prefix, 2));
      await hasPartitions(environment, projector, `${name}_g2`);
      const storeBefore = environment.storeSeconds();
      const before = { ms: performance.now(), processor: processorSeconds(projector.pid) };
      await appliedTo(control, ends, projector, 2);
      const store = environment.storeSeconds();
      return {
        records: [...ends.values()].reduce((sum, end) => sum + end, 0),
        ...{ startSeconds: null, documents: null },
        seconds: (performance.now() - before.ms) / 1_000,
        processorSeconds: processorSeconds(projector.pid) - before.processor,
        storeProcessorSeconds: storeBefore === null || store === null ? null : store - storeBefore,
        peakMegabytes: peakMegabytes(projector),
      };
    });
    const liveLag = await lagOf(environment, side);
    const documents = await documentsIn(build);
    const [servedMegabytes, buildMegabytes] = [await megabytesOf(database), await megabytesOf(build)];
    await cli('rebuild', 'await', '2', '--timeout', '120');
    const verifyingMs = performance.now();
    const { compared } = await cli('rebuild', 'compare', '2');
    const verifySeconds = (performance.now() - verifyingMs) / 1_000;
    const verified = Number(compared);
    return { ...run, documents, liveLag, servedMegabytes, buildMegabytes, verified, verifySeconds };
  } finally {
    await started.projector?.stop();
  }
}

/** Reads the list before `work` for some time, and while it runs. */
async function beside<T extends BacklogRun>({ target }: LiveSide, beforeMs: number, work: () => Promise<T>) {
  const before = await readDuring(target, () => sleep(beforeMs));
  const during = await readDuring(target, work);
  return { ...during.result, beforeMs: before.latenciesMs, duringMs: during.latenciesMs };
}

/** The number of records that generation 1 has not recorded as applied; it records once a second. */
async function lagOf({ admin }: BenchEnvironment, { scratch, published }: LiveSide): Promise<number> {
  const ends = await logEnds(admin, published.topics);
  const positions = await recordedPositions(scratch.control, 1);
  return [...ends].reduce((sum, [key, end]) => sum + Math.max(0, end - (positions.get(key) ?? 0)), 0);
}

async function megabytesOf(database: Db): Promise<number | null> {
  const { storageSize = 0, indexSize = 0 } = (await database.command({ dbStats: 1 })) as {
    storageSize?: number;
    indexSize?: number;
  };
  return (storageSize + indexSize) / 1_048_576 || null;
}

/**
 * Publishes one live event at a time to the projector of generation 1, each once the last one is readable in the store,
 * so that each is a batch of its own.
 */
async function runOneByOne(
  { producer }: BenchEnvironment,
  { scratch, published, nextEvent }: LiveSide,
  ms: number,
): Promise<OneByOne> {
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

const p99 = (times: 'beforeMs' | 'duringMs') => (run: Run) => percentile(run[times] ?? [], 0.99);

const columns: Column<Run>[] = [
  ...backlogColumns,
  { title: "reader's p99 before, ms", digits: 1, figure: p99('beforeMs') },
  { title: 'during, ms', digits: 1, figure: p99('duringMs') },
];

function partsOf(measured: Rebuild): string[] {
  const names = Object.keys(titles) as (keyof typeof titles)[];
  const rows = names.map((name) => ({ name, title: titles[name], runs: measured[name] as Run[] }));
  const { rebuild: builds, 'one-by-one': oneByOne } = measured;
  const spread = (figure: (run: RebuildRun) => number | null, digits = 0) =>
    formatted(spreadOf(builds.map(figure)), digits);
  return [
    tableOf(rows, columns),
    `The live side's projector, one event at a time: ${formatted(spreadOf(oneByOne.map(eventsPerSecond)), 0)} events/s. ` +
      `Documents and indexes of the complete build: ${spread((run) => run.buildMegabytes)} MB, beside ` +
      `${spread((run) => run.servedMegabytes)} MB of the served generation. Records that the live side had still to record ` +
      `as applied when the build was complete: ${spread(({ liveLag }) => liveLag)}. \`rebuild compare\` compared ` +
      `${spread(({ verified, verifySeconds }) => verified / verifySeconds)} documents a second, and found no difference.`,
  ];
}

const eventsPerSecond = ({ events, seconds }: OneByOne) => events / seconds;

function goalsOf(measured: Rebuild) {
  const ofRebuild = (name: keyof typeof titles) =>
    ratioOf<Run>(measured.rebuild, measured[name], recordsPerSecond);
  const median = (values: number[]) => spreadOf(values)?.median ?? null;
  const overOneByOne = measured.rebuild.map(
    (run, round) =>
      recordsPerSecond(run) / eventsPerSecond(measured['one-by-one'][round] ?? { events: NaN, seconds: 1 }),
  );
  const slowdown = measured.rebuild.map(
    (run) => (p99('duringMs')(run) ?? NaN) / (p99('beforeMs')(run) ?? NaN),
  );
  return [
    atLeast('rebuild ÷ bulk-write, reaching for 0.8', 0.5, '×', ofRebuild('bulk-write')),
    atLeast('rebuild ÷ bulk-write beside the live side', 0.5, '×', ofRebuild('bulk-write-beside')),
    atLeast('rebuild ÷ live, one event at a time', 5, '×', median(overOneByOne)),
    atMost("the reader's p99 during the rebuild ÷ before", 2, '×', median(slowdown)),
  ];
}
