import { setTimeout as sleep } from 'node:timers/promises';
import { createDataset } from '../dataset.ts';
import { progress, type BenchEnvironment } from '../environment.ts';
import { formatted, grouped, percentile } from '../figures.ts';
import { publishDataset, type Published } from '../publish.ts';
import {
  relativeTo,
  rotated,
  runBenchmark,
  renderTable,
  type Figure,
  type Goal,
  type ReportOptions,
} from '../report.ts';
import {
  backlogColumns,
  fromStart,
  processorPerMillion,
  recordsPerSecond,
  runBulkWrite,
  runProjector,
  type BacklogRun,
} from './backlog.ts';
import { ConnectorFailed, runConnector } from './connector.ts';
import { liveColumns, runLive, type FollowRun } from './live.ts';

const contenders = {
  'bulk-write': { title: 'kafkajs `eachBatch` + unguarded `bulkWrite`, no joins', run: runBulkWrite },
  connector: { title: 'MongoDB Kafka sink connector, no joins', run: runConnector },
  projector: { title: 'this projector, all joins', run: runProjector },
} as const;

const turns = ['bulk-write', 'connector', 'projector', 'live'] as const;
type Backlog = keyof typeof contenders;

/** The records of the backlog, and of the dataset that live changes are about. */
const rates = [300, 1_000, 3_000];
const fullSize = { backlog: 151_800, live: 11_500, follow: { rates, secondsPerRate: 8, idleSeconds: 20 } };
const quickSize = { backlog: 2_300, live: 2_300, follow: { rates, secondsPerRate: 2, idleSeconds: 2 } };

/** Pause between two runs, so that the store's remaining work for one does not slow the next. */
const pauseMs = 1_000;

/** Every run, and the reason why the connector was left out. `entities` is the expected number of documents. */
export type Projecting = {
  entities: number;
  backlog: (BacklogRun & { contender: Backlog })[];
  live: FollowRun[];
  leftOut: string | null;
};

/** Compares the projector with other ways to write the same records to the same store. */
export const benchProjecting = (options: ReportOptions): Promise<void> =>
  runBenchmark('projecting', 'docs/benchmarks.md', options, async (environment) => {
    const { quick, rounds } = options;
    const size = quick ? quickSize : fullSize;
    const published = await publishRecords(environment, size.backlog, 'backlog');
    const measured: Projecting = { entities: published.entities, backlog: [], live: [], leftOut: null };
    for (let round = 0; round < rounds; round += 1) {
      for (const turn of rotated(turns, round)) {
        progress(`round ${round + 1} of ${rounds}: ${turn}…`);
        if (turn === 'live') {
          const followed = await publishRecords(environment, size.live, `live${round}`);
          measured.live.push(await runLive(environment, followed, size.follow));
        } else if (turn !== 'connector' || measured.leftOut === null) {
          await runBacklog(environment, turn, published, measured);
        }
        await sleep(pauseMs);
      }
    }
    return { measured, parts: renderParts(measured), goals: checkGoals(measured) };
  });

async function publishRecords(
  environment: BenchEnvironment,
  count: number,
  name: string,
): Promise<Published> {
  const prefix = `${environment.prefix}${name}.`;
  const published = await publishDataset(environment, createDataset(count), prefix);
  const kilobytes = (published.bytes / published.records / 1_024).toFixed(2);
  progress(`published ${published.records} records, ${kilobytes} KB each on average`);
  return published;
}

async function runBacklog(
  environment: BenchEnvironment,
  contender: Backlog,
  published: Published,
  measured: Projecting,
): Promise<void> {
  try {
    const run = await contenders[contender].run(environment, published);
    progress(`${contender}: ${Math.round(recordsPerSecond(run))} records/s, ${run.seconds.toFixed(1)} s`);
    measured.backlog.push({ contender, ...run });
  } catch (error) {
    if (!(error instanceof ConnectorFailed)) throw error;
    measured.leftOut = error.message;
  }
}

const columns = backlogColumns.toSpliced(2, 0, { title: 'from process start', figure: fromStart });

function renderParts({ backlog, live, leftOut }: Projecting): string[] {
  const firstCells = ({ contender }: Projecting['backlog'][number]) => [
    `\`${contender}\``,
    contenders[contender].title,
  ];
  const rateCells = ({ eventsPerSecond }: FollowRun['rates'][number]) => [grouped(eventsPerSecond)];
  const idlePercents = live.map(({ idlePercent }) => idlePercent);
  const peaks = live.map(({ peakMegabytes }) => peakMegabytes);
  return [
    renderTable(['contender', 'description'], backlog, firstCells, columns),
    ...(leftOut === null ? [] : [`Left out: \`connector\`, because it ${leftOut}.`]),
    ...live.slice(0, 1).flatMap(({ partitions }) => [
      renderTable(
        ['events/s'],
        live.flatMap((followed) => followed.rates),
        rateCells,
        liveColumns,
      ),
      `Idle: ${formatted(idlePercents, 1)} % of a core with ${partitions} partitions and no traffic. ` +
        `Peak memory while live: ${formatted(peaks, 0)} MB.`,
    ]),
  ];
}

function checkGoals({ backlog, live }: Projecting): Goal[] {
  const runsOf = (name: Backlog) => backlog.filter(({ contender }) => contender === name);
  const projector = runsOf('projector');
  const over = (name: Backlog, figure: Figure<BacklogRun>) =>
    projector.map(relativeTo<BacklogRun>(runsOf(name), figure));
  const atThousand = live.flatMap(({ rates }) => rates.filter((rate) => rate.eventsPerSecond === 1_000));
  const p99s = atThousand.map(({ latenciesMs }) => percentile(latenciesMs, 0.99));
  const peaks = projector.map(({ peakMegabytes }) => peakMegabytes);
  return [
    {
      goal: 'records/s from process start ÷ bulk-write',
      atLeast: 0.5,
      figures: over('bulk-write', fromStart),
    },
    { goal: 'records/s ÷ connector', atLeast: 1, figures: over('connector', recordsPerSecond) },
    { goal: 'processor seconds per million', atMost: 85, figures: projector.map(processorPerMillion) },
    { goal: 'live p99 at 1,000 events/s, in ms', atMost: 500, figures: p99s },
    { goal: 'peak memory over a backlog, in MB', atMost: 256, figures: peaks },
    { goal: 'idle, in % of a core', atMost: 2, figures: live.map(({ idlePercent }) => idlePercent) },
  ];
}
