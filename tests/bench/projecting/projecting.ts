import { setTimeout as sleep } from 'node:timers/promises';
import { type BenchEnvironment, progress } from '../environment.ts';
import { formatMedian, formatNumber, ratios, rotated } from '../figures.ts';
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

/** The number of tickets. Each has about ten messages. */
const fullSize = 14_000;
const quickSize = 200;

/** The pause between two runs. Without a pause, the store's remaining work for one run would slow the next one. */
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
    for (let round = 0; round < options.rounds; round += 1) {
      for (const contender of rotated(contenders, round)) {
        progress(`round ${round + 1} of ${options.rounds}: ${contender}`);
        if (contender === 'connector') await tryConnector(environment, measured);
        else backlog[contender].push(await runBacklog(environment, contender, published));
        await sleep(pauseMs);
      }
    }
    return renderSections(measured);
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
const processorSecondsPerMillion = (run: BacklogRun) => (run.processorSeconds / run.records) * 1e6;
/** A counter of the store in proportion to a number of records. */
const storeCounterPer =
  (records: number, counter: 'storeSeconds' | 'commands' | 'bytes') => (run: BacklogRun) =>
    run[counter] && (run[counter] / run.records) * records;

function renderSections({ published, backlog, leftOut }: Measured): string[] {
  const measuredNames = (Object.keys(titles) as Contender[]).filter((name) => backlog[name].length > 0);
  const rows = measuredNames.map((name) => {
    const runs = backlog[name];
    const formatRatio = (base: Contender, figureOf: (run: BacklogRun) => number) =>
      formatMedian(ratios(runs, backlog[base], figureOf), 2);
    return [
      `\`${name}\`: ${titles[name]}`,
      formatMedian(runs.map(({ documents }) => documents)),
      formatMedian(runs.map(recordsPerSecond)),
      formatRatio('bulk-write', recordsPerSecond),
      formatRatio('connector', recordsPerSecond),
      formatMedian(runs.map(processorSecondsPerMillion)),
      formatRatio('bulk-write', processorSecondsPerMillion),
      formatMedian(runs.map(storeCounterPer(1e6, 'storeSeconds'))),
      formatMedian(runs.map(storeCounterPer(1_000, 'commands')), 1),
      formatMedian(runs.map(storeCounterPer(1_000 / 1_024, 'bytes'))),
      formatMedian(runs.map(({ peakMegabytes }) => peakMegabytes)),
    ];
  });
  const rateHeadings = ['records/s', '÷ bulk-write', '÷ connector'];
  const costHeadings = ['processor s per million', '÷ bulk-write', 'of the store'];
  const trafficHeadings = ['commands per 1,000', 'KB per 1,000', 'peak MB'];
  return [
    `${formatNumber(published.records)} records.`,
    table(['contender', 'documents', ...rateHeadings, ...costHeadings, ...trafficHeadings], rows),
    ...(leftOut === null ? [] : [`Left out: \`connector\`, because it ${leftOut}.`]),
  ];
}
