import { setTimeout as sleep } from 'node:timers/promises';
import { countsFor, createDataset } from '../dataset.ts';
import { progress, withEnvironment, type BenchEnvironment } from '../environment.ts';
import { atLeast, atMost } from '../goal.ts';
import { formatted, markdownTable } from '../markdown.ts';
import { publishDataset, type Published } from '../publish.ts';
import { publish, ratioOf, tableOf, type ReportOptions } from '../report.ts';
import { percentile, spreadOf } from '../statistics.ts';
import {
  backlogColumns,
  fromStart,
  processorPerMillion,
  recordsPerSecond,
  type BacklogRun,
} from './backlog.ts';
import { runBulkWrite } from './bulk-write.ts';
import { ConnectorFailed, runConnector } from './connector.ts';
import { runLive, type FollowOptions, type FollowRun } from './live.ts';
import { runProjector } from './projector.ts';

const contenders = {
  'bulk-write': { title: 'kafkajs `eachBatch` + unguarded `bulkWrite`, no joins', run: runBulkWrite },
  connector: { title: 'MongoDB Kafka sink connector, no joins', run: runConnector },
  projector: { title: 'this projector, all joins', run: runProjector },
} as const;

export const contenderNames = ['bulk-write', 'connector', 'projector', 'live'] as const;
export type ContenderName = (typeof contenderNames)[number];
type Backlog = Exclude<ContenderName, 'live'>;

/** `backlog` and `live` are shares of the dataset. */
type Size = { backlog: number; live: number; follow: FollowOptions };

const rates = [300, 1_000, 3_000];
const fullSize: Size = { backlog: 3.3, live: 0.25, follow: { rates, secondsPerRate: 8, idleSeconds: 20 } };
const quickSize: Size = { backlog: 0.05, live: 0.05, follow: { rates, secondsPerRate: 2, idleSeconds: 2 } };

const organizations = 3;
/** Pause between two runs, so that the store's remaining work for one does not slow the next. */
const pauseMs = 1_000;

/** The runs by contender, and the reason why one was left out. `entities` is the expected number of documents. */
export type Projecting = {
  entities: number;
  backlog: Record<Backlog, BacklogRun[]>;
  live: FollowRun[];
  leftOut: string | null;
};

/** Compares the projector with other ways to write the same records to the same store. */
export async function benchProjecting(
  options: ReportOptions & { only?: readonly ContenderName[] },
): Promise<void> {
  const startedAt = new Date().toISOString();
  const { quick, rounds, only = contenderNames } = options;
  await withEnvironment(async (environment) => {
    const measured = await measureRounds(environment, quick ? quickSize : fullSize, rounds, only);
    const { machine } = environment;
    const goals = goalsOf(measured);
    const report = { benchmark: 'projecting', startedAt, rounds, machine, measured, goals };
    await publish(report, partsOf(measured), options, 'docs/benchmarks.md');
  });
}

/** Runs every contender once in each round. The order rotates by one each round. */
async function measureRounds(
  environment: BenchEnvironment,
  size: Size,
  rounds: number,
  turns: readonly ContenderName[],
): Promise<Projecting> {
  const published = await publishShare(environment, size.backlog, 'backlog');
  const backlog: Projecting['backlog'] = { 'bulk-write': [], connector: [], projector: [] };
  const measured: Projecting = { entities: published.entities, backlog, live: [], leftOut: null };
  for (let round = 0; round < rounds; round += 1) {
    const first = round % turns.length;
    for (const turn of [...turns.slice(first), ...turns.slice(0, first)]) {
      progress(`round ${round + 1} of ${rounds}: ${turn}…`);
      if (turn === 'live') {
        const followed = await publishShare(environment, size.live, `live${round}`);
        measured.live.push(await runLive(environment, followed, size.follow));
      } else if (turn !== 'connector' || measured.leftOut === null) {
        await runBacklog(environment, turn, published, measured);
      }
      await sleep(pauseMs);
    }
  }
  return measured;
}

/** The same seed each time: every run has the same records. */
async function publishShare(environment: BenchEnvironment, share: number, name: string): Promise<Published> {
  const dataset = createDataset({ seed: 1, organizations, counts: countsFor(share, organizations) });
  const published = await publishDataset(environment, dataset, `${environment.prefix}${name}.`);
  const kilobytes = (published.bytes / published.records / 1_024).toFixed(2);
  progress(`published ${published.records} records, ${kilobytes} KB each on average`);
  return published;
}

async function runBacklog(
  environment: BenchEnvironment,
  name: Backlog,
  published: Published,
  measured: Projecting,
): Promise<void> {
  try {
    const run = await contenders[name].run(environment, published);
    progress(`${name}: ${Math.round(recordsPerSecond(run))} records/s, ${run.seconds.toFixed(1)} s`);
    measured.backlog[name].push(run);
  } catch (error) {
    if (!(error instanceof ConnectorFailed)) throw error;
    measured.leftOut = error.message;
  }
}

function partsOf({ backlog, live, leftOut }: Projecting): string[] {
  const names = Object.keys(contenders) as Backlog[];
  const rows = names.flatMap((name) =>
    backlog[name].length > 0 ? [{ name, title: contenders[name].title, runs: backlog[name] }] : [],
  );
  const [first] = live;
  return [
    ...(rows.length > 0 ? [tableOf(rows, backlogColumns)] : []),
    ...(leftOut === null ? [] : [`Left out: \`connector\`, because it ${leftOut}.`]),
    ...(first ? [liveTable(live)] : []),
    ...(first
      ? [
          `Idle: ${formatted(spreadOf(live.map(({ idlePercent }) => idlePercent)), 1)} % of a core with ` +
            `${first.partitions} partitions and no traffic. Peak memory while live: ` +
            `${formatted(spreadOf(live.map(({ peakMegabytes }) => peakMegabytes)), 0)} MB.`,
        ]
      : []),
  ];
}

const runsAt = (live: FollowRun[], rate: number) =>
  live.flatMap((followed) => followed.rates.filter(({ eventsPerSecond }) => eventsPerSecond === rate));

const liveTable = (live: FollowRun[]): string =>
  markdownTable(
    ['events/s', 'published/s', 'readable after, p50 ms', 'p99 ms', 'sampled', 'unseen'],
    rates.map((rate) => {
      const runs = runsAt(live, rate);
      const total = (figure: (run: (typeof runs)[number]) => number) =>
        String(runs.reduce((sum, run) => sum + figure(run), 0));
      const latency = (share: number) =>
        formatted(spreadOf(runs.map(({ latenciesMs }) => percentile(latenciesMs, share))), 0);
      return [
        ...[String(rate), formatted(spreadOf(runs.map(({ published }) => published)), 0)],
        ...[latency(0.5), latency(0.99)],
        ...[total(({ latenciesMs }) => latenciesMs.length), total(({ unseen }) => unseen)],
      ];
    }),
    0,
  );

function goalsOf({ backlog, live }: Projecting) {
  const { projector, connector } = backlog;
  const bulkWrite = backlog['bulk-write'];
  const median = <Run>(runs: Run[], figure: (run: Run) => number | null) =>
    spreadOf(runs.map(figure))?.median ?? null;
  return [
    atLeast('records/s ÷ bulk-write, from process start', 0.5, '×', ratioOf(projector, bulkWrite, fromStart)),
    atLeast('records/s ÷ connector', 1, '×', ratioOf(projector, connector, recordsPerSecond)),
    atMost('processor time per million records', 85, ' s', median(projector, processorPerMillion)),
    atMost(
      'live p99 at 1,000 events/s',
      500,
      ' ms',
      median(runsAt(live, 1_000), ({ latenciesMs }) => percentile(latenciesMs, 0.99)),
    ),
    atMost(
      'peak resident memory over a backlog',
      256,
      ' MB',
      median(projector, ({ peakMegabytes }) => peakMegabytes),
    ),
    atMost(
      'idle, of one core',
      2,
      ' %',
      median(live, ({ idlePercent }) => idlePercent),
    ),
  ];
}
