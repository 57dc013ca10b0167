import { setTimeout as sleep } from 'node:timers/promises';
import { type BenchEnvironment, progress } from '../environment.ts';
import { formatted, grouped, ratios, rotated } from '../figures.ts';
import { publishDataset, type Published } from '../publish.ts';
import { type ReportOptions, runBenchmark, table } from '../report.ts';
import { ConnectorFailed, runConnector } from './connector.ts';
import { type BacklogRun, runBacklog } from './contenders.ts';

const titles = {
  'bulk-write': 'kafkajs `eachBatch` + unguarded `bulkWrite`, no joins',
  connector: 'MongoDB Kafka sink connector, no joins',
  projector: 'this projector, all joins',
} as const;
type Contender = keyof typeof titles;
const contenders = ['bulk-write', 'connector', 'projector'] as const;

/** Tickets; each has some ten messages. */
const fullSize = 14_000;
const quickSize = 200;

/** Pause between two runs, so that the store's remaining work for one does not slow the next. */
const pauseMs = 1_000;

type Measured = {
  published: Published;
  backlog: Record<Contender, BacklogRun[]>;
  /** The reason why the benchmark left out the connector. */
  leftOut: string | null;
};

/** Compares the projector with other ways to write the same records to the same store. */
export const benchProjecting = (options: ReportOptions): Promise<void> =>
  runBenchmark('projecting', options, async (environment) => {
    const published = await publishDataset(environment, options.quick ? quickSize : fullSize);
    const backlog: Measured['backlog'] = { 'bulk-write': [], connector: [], projector: [] };
    const measured: Measured = { published, backlog, leftOut: null };
    for (let round = 0; round < options.rounds; round += 1)
      for (const contender of rotated(contenders, round)) {
        progress(`round ${round + 1} of ${options.rounds}: ${contender}`);
        if (contender === 'connector') await tryConnector(environment, measured);
        else backlog[contender].push(await runBacklog(environment, contender, published));
        await sleep(pauseMs);
      }
    return renderParts(measured);
  });

async function tryConnector(environment: BenchEnvironment, measured: Measured): Promise<void> {
  if (measured.leftOut !== null) return;
  try {
    measured.backlog.connector.push(await runConnector(environment, measured.published));
  } catch (error) {
    if (!(error instanceof ConnectorFailed)) throw error;
    measured.leftOut = error.message;
  }
}

const recordsPerSecond = ({ records, seconds }: BacklogRun) => records / seconds;
const perMillion = (run: BacklogRun) => (run.processorSeconds / run.records) * 1e6;
/** A counter of the store for this many records. */
const per = (records: number, counter: 'storeSeconds' | 'commands' | 'bytes') => (run: BacklogRun) =>
  run[counter] && (run[counter] / run.records) * records;

function renderParts({ published, backlog, leftOut }: Measured): string[] {
  const measured = (Object.keys(titles) as Contender[]).filter((name) => backlog[name].length > 0);
  const rows = measured.map((name) => {
    const runs = backlog[name];
    const against = (other: Contender, figure: (run: BacklogRun) => number) =>
      formatted(ratios(runs, backlog[other], figure), 2);
    return [
      `\`${name}\`: ${titles[name]}`,
      formatted(runs.map(({ documents }) => documents)),
      formatted(runs.map(recordsPerSecond)),
      against('bulk-write', recordsPerSecond),
      against('connector', recordsPerSecond),
      formatted(runs.map(perMillion)),
      against('bulk-write', perMillion),
      formatted(runs.map(per(1e6, 'storeSeconds'))),
      formatted(runs.map(per(1_000, 'commands')), 1),
      formatted(runs.map(per(1_000 / 1_024, 'bytes'))),
      formatted(runs.map(({ peakMegabytes }) => peakMegabytes)),
    ];
  });
  const titlesOfRates = ['records/s', '÷ bulk-write', '÷ connector'];
  const titlesOfCosts = ['processor s per million', '÷ bulk-write', 'of the store'];
  const titlesOfTraffic = ['commands per 1,000', 'KB per 1,000', 'peak MB'];
  return [
    `${grouped(published.records)} records.`,
    table(['contender', 'documents', ...titlesOfRates, ...titlesOfCosts, ...titlesOfTraffic], rows),
    ...(leftOut === null ? [] : [`Left out: \`connector\`, because it ${leftOut}.`]),
  ];
}
