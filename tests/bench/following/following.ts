import type { Db } from 'mongodb';
import type { Event } from '../../../infra/sample-data/encode.ts';
import type { SampleState } from '../../../infra/sample-data/sample-data.ts';
import { type Service, startService } from '../../../infra/service.ts';
import { stages } from '../../../services/projector/apply/stages.ts';
import { logEnds, reached } from '../../support/progress.ts';
import { type BenchEnvironment, progress, withScratch } from '../environment.ts';
import { formatMedian, formatNumber, percentile, rotated } from '../figures.ts';
import { type ReportOptions, runBenchmark, table } from '../report.ts';
import { measure } from '../usage.ts';
import { type Observed, observedBetween, quantile, readHistogram } from './histogram.ts';
import { startReader } from './reader.ts';
import { publishReplies, publishTickets } from './source.ts';

/** Events a second. */
const rates = [600, 3_000] as const;
type Rate = (typeof rates)[number];
const partitions = 6;

const full = { tickets: 3_000, seconds: 20, warmSeconds: 5 };
const quick = { tickets: 100, seconds: 3, warmSeconds: 1 };
/** The replies a second for whose events the reader waits. More would take much of the store's time. */
const sampledPerSecond = 40;

type Run = {
  events: number;
  latenciesMs: number[];
  acknowledgedMs: number[];
  /** The number of cores that the projector kept busy. */
  cores: number;
  stages: Map<string, Observed>;
};

/** Measures how long events take from their publication until their documents can be read. */
export const benchFollowing = (options: ReportOptions): Promise<void> =>
  runBenchmark('following', options, async (environment) => {
    const size = options.quick ? quick : full;
    await environment.create(partitions);
    const state = await publishTickets(environment, size.tickets);
    const runs: Record<Rate, Run[]> = { 600: [], 3_000: [] };
    await withScratch(environment, async ({ name, control, database }) => {
      const service = startProjector(environment, name);
      try {
        const ends = await logEnds(environment.admin, environment.topics);
        await reached(control, ends, service.failures, 1, { limitMs: Infinity });
        const run = (rate: Rate, seconds: number) =>
          measureRun({ environment, service, database, state }, rate, seconds);
        for (const rate of rates) await run(rate, size.warmSeconds);
        for (let round = 0; round < options.rounds; round += 1) {
          for (const rate of rotated(rates, round)) {
            progress(`round ${round + 1} of ${options.rounds}: ${rate} events a second`);
            runs[rate].push(await run(rate, size.seconds));
          }
        }
      } finally {
        await service.stop();
      }
    });
    return renderSections(runs);
  });

const startProjector = ({ kafkaBrokers, mongodbUrl, prefix }: BenchEnvironment, name: string): Service =>
  startService('projector', {
    KAFKA_BROKERS: kafkaBrokers,
    MONGODB_URL: mongodbUrl,
    TOPIC_PREFIX: prefix,
    DATABASE_NAME: name,
    CONSUMER_GROUP: name,
    ADMIN_PORT: '0',
    LOG_LEVEL: 'info',
  });

type Running = { environment: BenchEnvironment; service: Service; database: Db; state: SampleState };

async function measureRun(
  { environment, service, database, state }: Running,
  rate: Rate,
  seconds: number,
): Promise<Run> {
  const reader = startReader(database, service.failures);
  const stagesBefore = await readStages(service);
  const acknowledgedMs: number[] = [];
  let events = 0;
  let latenciesMs: number[] = [];
  let lastSampledMs = -Infinity;
  const onSent = (sent: Event[], dueMs: number) => {
    events += sent.length;
    if (dueMs - lastSampledMs < 1_000 / sampledPerSecond) return;
    lastSampledMs = dueMs;
    for (const event of sent) reader.waitFor(event, dueMs);
  };
  const onAcknowledged = (ms: number) => acknowledgedMs.push(ms);
  const usage = await measure(service, async () => {
    await publishReplies(environment, state, { rate, seconds, onSent, onAcknowledged });
    latenciesMs = await reader.latenciesMs();
  });
  const stagesAfter = await readStages(service);
  const observed = stages.map(
    (stage) => [stage, observedBetween(stagesBefore.get(stage), stagesAfter.get(stage))] as const,
  );
  const cores = usage.processorSeconds / usage.seconds;
  return { events, latenciesMs, acknowledgedMs, cores, stages: new Map(observed) };
}

async function readStages(service: Service): Promise<Map<string, Observed>> {
  const { port } = await service.logged('admin server listening');
  const response = await fetch(`http://127.0.0.1:${String(port)}/metrics`);
  return readHistogram(await response.text(), 'projector_stage_duration_seconds', 'stage');
}

function renderSections(runs: Record<Rate, Run[]>): string[] {
  const toMilliseconds = (seconds: number | null | undefined) =>
    seconds === null || seconds === undefined ? null : seconds * 1_000;
  const latencies = rates.map((rate) => [
    formatNumber(rate),
    formatMedian(runs[rate].map(({ events }) => events)),
    ...[0.5, 0.99].map((share) =>
      formatMedian(runs[rate].map(({ latenciesMs }) => percentile(latenciesMs, share))),
    ),
    formatMedian(runs[rate].map(({ acknowledgedMs }) => percentile(acknowledgedMs, 0.99))),
    formatMedian(
      runs[rate].map(({ cores }) => cores),
      2,
    ),
  ]);
  const formatStage = (stage: string, figure: (observed: Observed) => number | null) => (rate: Rate) =>
    formatMedian(
      runs[rate].map((run) => {
        const observed = run.stages.get(stage);
        return observed ? toMilliseconds(figure(observed)) : null;
      }),
      1,
    );
  const mean = ({ sum, count }: Observed) => (count === 0 ? null : sum / count);
  const byStage = stages.map((stage) => [
    `\`${stage}\``,
    ...rates.flatMap((rate) => [
      formatStage(stage, mean)(rate),
      formatStage(stage, (observed) => quantile(observed, 0.99))(rate),
    ]),
  ]);
  return [
    table(['events/s', 'events', 'p50 ms', 'p99 ms', 'acknowledged p99 ms', 'projector cores'], latencies),
    table(['stage', ...rates.flatMap((rate) => [`${formatNumber(rate)}/s: mean ms`, 'p99 ms'])], byStage),
  ];
}
