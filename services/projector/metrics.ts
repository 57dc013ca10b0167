import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { rejectionReasons } from '../../shared/control/rejections.ts';
import { kinds } from '../../shared/documents/resources.ts';
import { lossReasons } from '../../shared/kafka/topic-settings.ts';
import { beginAtZero } from '../../shared/runtime/first-series.ts';
import { registerBuildInfo } from '../../shared/runtime/release.ts';
import { stages } from './apply/stages.ts';
import { repeatCauses } from './materialize/rounds.ts';

/** The metrics by their use in the code. The `help` of each is its description. */
export type Metrics = RecordMetrics & DeadLetterMetrics & EngineMetrics & LagMetrics & { registry: Registry };

/** The metrics of records, from the fetch on. */
type RecordMetrics = {
  fetched: Counter<'topic'>;
  events: Counter<'topic'>;
  late: Counter<'topic'>;
  foreignCommits: Counter<'topic'>;
  losesRecords: Gauge<'topic' | 'reason'>;
  stageSeconds: Histogram<'stage'>;
  batchSeconds: Histogram<'topic'>;
  batchRecords: Histogram;
};

/** The metrics of records that are not applied. */
type DeadLetterMetrics = {
  deadLetters: Counter<'topic' | 'reason'>;
  deadLettersUnapplied: Gauge<'topic' | 'reason'>;
  deadLetterBytes: Gauge;
};

/** The metrics of the documents that the engine writes, and of the sweep. */
type EngineMetrics = {
  repeated: Counter<'kind' | 'cause'>;
  fanOutWaiting: Gauge;
  sweepFailing: Gauge;
  notRefreshed: Counter<'kind'>;
};

/** The metrics of the age of the data. */
type LagMetrics = {
  lag: Gauge<'topic' | 'partition'>;
  position: Gauge<'topic' | 'partition'>;
  lagSeconds: Gauge<'topic'>;
  maxLag: Gauge;
  staleness: Gauge;
  held: Gauge<'cause'>;
  generationState: Gauge<'state'>;
};

/**
 * The projector's Prometheus metrics, served at `/metrics`. Names end in their unit. The help texts are the catalogue
 * in docs/metrics.md.
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  // With the default of 10 ms, the monitoring would be most of the work of an idle projector.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  registerBuildInfo(registry);
  return {
    registry,
    ...recordMetrics([registry]),
    ...deadLetterMetrics([registry]),
    ...engineMetrics([registry]),
    ...lagMetrics([registry]),
  };
}

const recordMetrics = (registers: Registry[]): RecordMetrics => ({
  fetched: new Counter({
    name: 'projector_records_fetched_total',
    help: 'Records fetched from the brokers: more than the applied records only while a backlog is queued',
    labelNames: ['topic'],
    registers,
  }),
  events: new Counter({
    name: 'projector_events_total',
    help: 'Events applied, including duplicates and stale events',
    labelNames: ['topic'],
    registers,
  }),
  late: new Counter({
    name: 'projector_late_events_total',
    help: 'Events that were older than the watermark when they arrived: exports may miss them',
    labelNames: ['topic'],
    registers,
  }),
  foreignCommits: new Counter({
    name: 'projector_foreign_commits_total',
    help: 'Partitions whose committed offset was ahead of the recorded position: a different client commits in the group, or MongoDB was restored. No record is skipped',
    labelNames: ['topic'],
    registers,
  }),
  losesRecords: new Gauge({
    name: 'projector_topic_loses_records',
    help: '1 while a topic loses records that a rebuild needs, by reason (docs/gaps.md); 0 otherwise',
    labelNames: ['topic', 'reason'],
    registers,
  }),
  stageSeconds: new Histogram({
    name: 'projector_stage_duration_seconds',
    help: 'Time that the first record of a batch spends in each stage: the longest stage limits the throughput. docs/metrics.md lists the stages',
    labelNames: ['stage'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  }),
  batchSeconds: new Histogram({
    name: 'projector_batch_duration_seconds',
    help: 'Time to apply a batch of records, including its fan-outs, but not its wait for other topics or partitions',
    labelNames: ['topic'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  }),
  batchRecords: new Histogram({
    name: 'projector_batch_records',
    help: 'Number of records applied together, at most 1,000: small batches cost more for each record',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000],
    registers,
  }),
});

const deadLetterMetrics = (registers: Registry[]): DeadLetterMetrics => ({
  deadLetters: new Counter({
    name: 'projector_dead_letters_total',
    help: 'Records that the projector could not apply and stored as dead letters, by reason',
    labelNames: ['topic', 'reason'],
    registers,
  }),
  deadLettersUnapplied: new Gauge({
    name: 'projector_dead_letters_unapplied',
    help: 'Unapplied dead letters of the generation, by reason. Every projector reports the same number. Readers do not see these changes until a redrive',
    labelNames: ['topic', 'reason'],
    registers,
  }),
  deadLetterBytes: new Gauge({
    name: 'projector_dead_letters_filled_ratio',
    help: 'Used part of the share of `DEAD_LETTER_MEGABYTES_MAX` that the fullest topic has: at 1, the projector stores new dead letters without bytes',
    registers,
  }),
});

const engineMetrics = (registers: Registry[]): EngineMetrics => ({
  repeated: new Counter({
    name: 'projector_reconciles_repeated_total',
    help: 'Documents reconciled again, by cause: `conflict` (a different write came first), `reference` (a reference changed). A high rate means contention',
    labelNames: ['kind', 'cause'],
    registers,
  }),
  fanOutWaiting: new Gauge({
    name: 'projector_fan_out_waiting_documents',
    help: 'Documents that the fan-outs in progress still have to refresh, up to 2,000 for each partition: a partition waits for its large fan-out',
    registers,
  }),
  sweepFailing: new Gauge({
    name: 'projector_sweep_failing',
    help: '1 if the last retention sweep of this projector failed: personal data stays in MongoDB, but the API does not serve it',
    registers,
  }),
  notRefreshed: new Counter({
    name: 'projector_not_refreshed_total',
    help: 'Documents that the projector could not refresh: MongoDB refuses them, an edit made them unreadable, or the code failed. They stay outdated',
    labelNames: ['kind'],
    registers,
  }),
});

const lagMetrics = (registers: Registry[]): LagMetrics => ({
  lag: new Gauge({
    name: 'projector_lag_records',
    help: 'Records between the applied position and the end of the log, for the partitions of this projector',
    labelNames: ['topic', 'partition'],
    registers,
  }),
  position: new Gauge({
    name: 'projector_applied_offset',
    help: 'Offset of the next record to apply: a partition with lag is stuck if its offset does not change',
    labelNames: ['topic', 'partition'],
    registers,
  }),
  lagSeconds: new Gauge({
    name: 'projector_lag_seconds',
    help: 'Upper bound of the age of the oldest record to apply, from the ends of the log; 0 if there is none. In a new generation, counted from its first start',
    labelNames: ['topic'],
    registers,
  }),
  maxLag: new Gauge({
    name: 'projector_max_lag_seconds',
    help: 'Longest lag of the generation so far, if it was a minute or more: above `delete.retention.ms`, the generation may contain deleted entities',
    registers,
  }),
  staleness: new Gauge({
    name: 'projector_watermark_age_seconds',
    help: "Age of the generation's watermark: `LATENESS_ALLOWANCE_SECONDS` when all records are applied",
    registers,
  }),
  held: new Gauge({
    name: 'projector_watermark_held_seconds',
    help: 'Lag of the watermark beyond `LATENESS_ALLOWANCE_SECONDS`, for the cause that delays it; 0 for all other causes',
    labelNames: ['cause'],
    registers,
  }),
  generationState: new Gauge({
    name: 'projector_generation_state',
    help: 'Always 1; the label names the state of the generation: a build lags without harm',
    labelNames: ['state'],
    registers,
  }),
});

/** Labels all metrics with the generation, and begins the series whose labels are known. */
export function initializeMetrics(metrics: Metrics, generation: number, topics: string[]): void {
  metrics.registry.setDefaultLabels({ generation });
  const topicLabels = topics.map((topic) => ({ topic }));
  const rejections = topics.flatMap((topic) =>
    Object.keys(rejectionReasons).map((reason) => ({ topic, reason })),
  );
  beginAtZero(metrics, {
    fetched: topicLabels,
    events: topicLabels,
    late: topicLabels,
    foreignCommits: topicLabels,
    deadLetters: rejections,
    notRefreshed: kinds.map((kind) => ({ kind })),
    repeated: kinds.flatMap((kind) => repeatCauses.map((cause) => ({ kind, cause }))),
  });
  for (const labels of rejections) metrics.deadLettersUnapplied.set(labels, 0);
  for (const topic of topics) {
    for (const reason of lossReasons) metrics.losesRecords.set({ topic, reason }, 0);
  }
  for (const stage of stages) metrics.stageSeconds.zero({ stage });
}
