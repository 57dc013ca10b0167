import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { recordedPositions } from '../../../services/projector/consumer/progress.ts';
import { generationDatabase } from '../../../shared/store/connection.ts';
import { logEnds } from '../../support/progress.ts';
import { createDataset } from '../dataset.ts';
import { countAllDocuments, progress, type BenchEnvironment } from '../environment.ts';
import { formatted, percentile } from '../figures.ts';
import { readDuring } from '../load.ts';
import { appliedTo, hasPartitions, startProjector } from '../processes.ts';
import {
  backlogColumns,
  recordsPerSecond,
  runBulkWrite,
  runProjector,
  type BacklogRun,
} from '../projecting/backlog.ts';
import { publishDataset, countRecords } from '../publish.ts';
import {
  relativeTo,
  rotated,
  runBenchmark,
  renderTable,
  type Column,
  type Goal,
  type ReportOptions,
} from '../report.ts';
import { measure } from '../usage.ts';
import { withLiveSide, type LiveSide } from './live-side.ts';

/** A complete build. */
type Build = {
  /** Records that the live side had not recorded as applied when the build was complete. */
  liveLag: number;
  /** The size of documents and indexes of each generation; null if the store does not report it. */
  servedMegabytes: number | null;
  buildMegabytes: number | null;
  /** The documents that `rebuild compare` compared, and its time. */
  verified: number;
  verifySeconds: number;
};

/** A run, with the times of the reader's requests before and during a run beside the live side, in milliseconds. */
type Run = BacklogRun & { beforeMs?: number[]; duringMs?: number[]; build?: Build };

const titles = {
  'bulk-write': 'kafkajs `eachBatch` + unguarded `bulkWrite`, no joins, nothing beside it',
  projector: 'this projector, all joins, nothing beside it',
  'bulk-write-beside': 'kafkajs `eachBatch` + unguarded `bulkWrite`, beside the live side',
  rebuild: 'a rebuild: this projector, all joins, beside the live side',
} as const;
type Contender = keyof typeof titles;

/** The runs of all rounds. */
export type Rebuild = (Run & { contender: Contender })[];

const fullSize = { records: 46_000, warmMs: 4_000, beforeMs: 10_000 };
const quickSize = { records: 2_300, warmMs: 1_000, beforeMs: 2_000 };

/** Pause between two runs, so that the store's remaining work for one does not slow the next. */
const pauseMs = 1_000;

/** Measures a rebuild beside a generation that is served and follows live changes. */
export const benchRebuild = (options: ReportOptions & { records?: number }): Promise<void> =>
  runBenchmark('rebuild', 'docs/benchmarks-rebuild.md', options, async (environment) => {
    const { quick, rounds, records } = options;
    const size = { ...(quick ? quickSize : fullSize), ...(records !== undefined && { records }) };
    const measured: Rebuild = [];
    for (let round = 0; round < rounds; round += 1) {
      progress(`round ${round + 1} of ${rounds}`);
      await measureRound(environment, size, round, async (contender, work) => {
        progress(`${contender}…`);
        const run = await work();
        measured.push({ contender, ...run });
        progress(`${contender}: ${run.seconds.toFixed(1)} s`);
        await sleep(pauseMs);
      });
    }
    return { measured, parts: renderParts(measured), goals: checkGoals(measured) };
  });

async function measureRound(
  environment: BenchEnvironment,
  size: typeof fullSize,
  round: number,
  add: (contender: Contender, work: () => Promise<Run>) => Promise<void>,
): Promise<void> {
  const prefix = `${environment.prefix}${round}.`;
  const published = await publishDataset(environment, createDataset(size.records), prefix);
  /** Consumes as many records as the log has at its start. */
  const bulkWrite = async () => {
    const records = countRecords(await logEnds(environment.admin, published.topics));
    return runBulkWrite(environment, { ...published, records });
  };
  const alone = [
    () => add('bulk-write', bulkWrite),
    () => add('projector', () => runProjector(environment, published)),
  ];
  for (const run of rotated(alone, round)) await run();
  await withLiveSide(environment, published, async (side) => {
    await readDuring(side.target, () => sleep(size.warmMs));
    const beside = [
      () => add('bulk-write-beside', () => withReader(side, size.beforeMs, bulkWrite)),
      () => add('rebuild', () => runRebuild(environment, side, size.beforeMs)),
    ];
    for (const run of rotated(beside, round)) await run();
  });
}

/** Reads the list for some time before `work`, and while it runs. */
async function withReader({ target }: LiveSide, ms: number, work: () => Promise<BacklogRun>): Promise<Run> {
  const before = await readDuring(target, () => sleep(ms));
  const during = await readDuring(target, work);
  return { ...during.result, beforeMs: before.latenciesMs, duringMs: during.latenciesMs };
}

/**
 * Builds generation 2 with one projector, as an operator does, until it has recorded the log's ends of its start as
 * applied. Then it is compared with generation 1, document by document: rejects if one differs.
 */
async function runRebuild(environment: BenchEnvironment, side: LiveSide, beforeMs: number): Promise<Run> {
  const { admin, mongo } = environment;
  const { published, cli } = side;
  const { name, control, database } = side.scratch;
  await cli('rebuild', 'start', '--why', 'the benchmark');
  const ends = await logEnds(admin, published.topics);
  const buildDatabase = generationDatabase(mongo, name, 2);
  await using cleanUp = new AsyncDisposableStack();
  const run = await withReader(side, beforeMs, async () => {
    const projector = startProjector(environment, name, published.prefix, 2);
    cleanUp.defer(async () => void (await projector.stop()));
    await hasPartitions(environment, projector, `${name}_g2`);
    const usage = await measure(projector, () => appliedTo(control, ends, projector, 2));
    return { ...usage, records: countRecords(ends), startSeconds: null, documents: null };
  });
  const liveLag = await countLag(environment, side);
  const documents = await countAllDocuments(buildDatabase);
  const [servedMegabytes, buildMegabytes] = [
    await databaseMegabytes(database),
    await databaseMegabytes(buildDatabase),
  ];
  await cli('rebuild', 'await', '2', '--timeout', '120');
  const verifyingMs = performance.now();
  const verified = Number((await cli('rebuild', 'compare', '2')).compared);
  const verifySeconds = (performance.now() - verifyingMs) / 1_000;
  return { ...run, documents, build: { liveLag, servedMegabytes, buildMegabytes, verified, verifySeconds } };
}

/** The number of records that generation 1 has not recorded as applied; it records once a second. */
async function countLag({ admin }: BenchEnvironment, { scratch, published }: LiveSide): Promise<number> {
  const ends = await logEnds(admin, published.topics);
  const positions = await recordedPositions(scratch.control, 1);
  return [...ends].reduce((sum, [key, end]) => sum + Math.max(0, end - (positions.get(key) ?? 0)), 0);
}

async function databaseMegabytes(database: Db): Promise<number | null> {
  const { storageSize = 0, indexSize = 0 } = (await database.command({ dbStats: 1 })) as {
    storageSize?: number;
    indexSize?: number;
  };
  return (storageSize + indexSize) / 1_048_576 || null;
}

const p99 = (times: 'beforeMs' | 'duringMs') => (run: Run) => percentile(run[times] ?? [], 0.99);

const columns: Column<Rebuild[number]>[] = [
  ...backlogColumns,
  { title: "reader's p99 before, ms", digits: 1, figure: p99('beforeMs') },
  { title: 'during, ms', digits: 1, figure: p99('duringMs') },
];

function renderParts(measured: Rebuild): string[] {
  const builds = measured.flatMap(({ build }) => build ?? []);
  const spread = (figure: (build: Build) => number | null) => formatted(builds.map(figure), 0);
  const firstCells = ({ contender }: Rebuild[number]) => [`\`${contender}\``, titles[contender]];
  return [
    renderTable(['contender', 'description'], measured, firstCells, columns),
    `Documents and indexes of the complete build: ${spread(({ buildMegabytes }) => buildMegabytes)} MB, beside ` +
      `${spread(({ servedMegabytes }) => servedMegabytes)} MB of the served generation. Records that the live side had still ` +
      `to record as applied when the build was complete: ${spread(({ liveLag }) => liveLag)}. \`rebuild compare\` compared ` +
      `${spread(({ verified, verifySeconds }) => verified / verifySeconds)} documents a second, and found no difference.`,
  ];
}

function checkGoals(measured: Rebuild): Goal[] {
  const runsOf = (name: Contender): Run[] => measured.filter(({ contender }) => contender === name);
  const rebuilds = runsOf('rebuild');
  const over = (name: Contender) => rebuilds.map(relativeTo(runsOf(name), recordsPerSecond));
  const slowdown = (run: Run) => (p99('duringMs')(run) ?? NaN) / (p99('beforeMs')(run) ?? NaN);
  return [
    { goal: 'records/s ÷ bulk-write', atLeast: 0.5, figures: over('bulk-write') },
    { goal: 'records/s ÷ bulk-write-beside', atLeast: 0.5, figures: over('bulk-write-beside') },
    { goal: "the reader's p99 during the rebuild ÷ before", atMost: 2, figures: rebuilds.map(slowdown) },
  ];
}
