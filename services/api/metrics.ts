import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { servedKinds } from '../../shared/documents/served-indexes.ts';
import { beginAtZero } from '../../shared/runtime/first-series.ts';
import { registerBuildInfo } from '../../shared/runtime/release.ts';
import type { BudgetUsage } from './store/read-budget.ts';

/** The metrics by their use in the code. The `help` of each is its description. */
export type Metrics = RequestMetrics & DataMetrics & { registry: Registry };

/** About requests and connections. */
type RequestMetrics = {
  durations: Histogram<'method' | 'route' | 'status'>;
  inFlight: Gauge;
  requestsRefused: Counter<'reason'>;
  connectionsRefused: Counter;
  authFailuresCounted: Counter<'reason'>;
  rateLimitFallbacks: Counter;
  certificateEnd: Gauge;
};

/** About the data that is served. */
type DataMetrics = {
  generation: Gauge;
  dataAge: Gauge;
  storeErrors: Counter;
  documentsLeftOut: Counter<'kind'>;
  ready: Gauge;
  logGap: Gauge;
  tracesLost: Counter<'reason'>;
};

/**
 * The metrics that the admin port serves at `/metrics`. Routes are labelled by pattern, so there are few labels. The
 * help texts are the catalogue in docs/metrics.md.
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  registerBuildInfo(registry);
  const metrics = { registry, ...requestMetrics(registers), ...dataMetrics(registers) };
  const reasons = (all: string[]) => all.map((reason) => ({ reason }));
  beginAtZero(metrics, {
    requestsRefused: reasons(['requests', 'share', 'memory']),
    authFailuresCounted: reasons(['missing', 'malformed', 'unknown', 'shared_token']),
    tracesLost: reasons(['unauthenticated_budget', 'queue_full', 'shutdown']),
    documentsLeftOut: servedKinds.map((kind) => ({ kind })),
  });
  return metrics;
}

const requestMetrics = (registers: Registry[]): RequestMetrics => ({
  durations: new Histogram({
    name: 'api_request_duration_seconds',
    help: 'Time from the request to the end of its response. `route` is the pattern of the path; status 499 means that the client closed the connection first',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  }),
  inFlight: new Gauge({
    name: 'api_requests_in_flight',
    help: 'Requests in progress, until their clients have received the response',
    registers,
  }),
  requestsRefused: new Counter({
    name: 'api_requests_refused_total',
    help: 'Requests refused because a limit was reached, by reason: share (429), requests (503, `API_REQUESTS_MAX`), memory (503, `API_ANSWERS_MB_MAX`)',
    labelNames: ['reason'] as const,
    registers,
  }),
  connectionsRefused: new Counter({
    name: 'api_connections_refused_total',
    help: 'Connections closed because `API_CONNECTIONS_MAX` were open, or a tenth of them from one address, or because more than 32 requests waited on one',
    registers,
  }),
  authFailuresCounted: new Counter({
    name: 'api_auth_failures_total',
    help: 'Requests without a valid key, by reason (`shared_token`: an archived or blocked key has the same token): a high rate of unknown means guessed keys',
    labelNames: ['reason'] as const,
    registers,
  }),
  rateLimitFallbacks: new Counter({
    name: 'api_rate_limit_fallbacks_total',
    registers,
    help: 'Requests counted in this process only, because the shared rate limit store was unavailable: clients may exceed the limit',
  }),
  certificateEnd: new Gauge({
    name: 'api_tls_certificate_not_after_timestamp_seconds',
    help: 'Unix time at which the certificate in use expires; 0 if the API does not terminate TLS',
    registers,
  }),
});

const dataMetrics = (registers: Registry[]): DataMetrics => ({
  generation: new Gauge({
    name: 'api_generation',
    help: 'The generation that this process serves: processes differ only for seconds after a promotion',
    registers,
  }),
  dataAge: new Gauge({
    name: 'api_data_age_seconds',
    help: 'Age of `Data-As-Of`, the served watermark: the freshness that clients see; 0 before the first read',
    registers,
  }),
  storeErrors: new Counter({
    name: 'api_store_errors_total',
    help: 'Requests answered with 503 because MongoDB could not be read',
    registers,
  }),
  documentsLeftOut: new Counter({
    name: 'api_documents_left_out_total',
    help: 'Documents that lists left out because an edit by hand had broken them, by kind, counted for each page',
    labelNames: ['kind'] as const,
    registers,
  }),
  ready: new Gauge({
    name: 'api_ready',
    help: '1 while this process can answer from MongoDB, 0 while `/readyz` answers 503: if all are 0, clients get errors',
    registers,
  }),
  logGap: new Gauge({
    name: 'api_log_gap_timestamp_seconds',
    help: 'Unix time at which a projector found a gap in the log of the generation that this process serves, which stops all its projectors; 0 if there is no gap',
    registers,
  }),
  tracesLost: new Counter({
    name: 'api_request_traces_lost_total',
    help: 'Request traces that were not stored, by reason: unauthenticated_budget, queue_full, shutdown',
    labelNames: ['reason'] as const,
    registers,
  }),
});

/** Adds the gauges of the read budget. Each scrape reads its current use. */
export function observeBudget({ registry }: Metrics, usage: () => BudgetUsage): void {
  const addGauge = (field: keyof BudgetUsage, name: string, help: string) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(usage()[field]);
      },
    });
  addGauge('bytes', 'api_answers_bytes', 'Memory that responses in progress hold, of `API_ANSWERS_MB_MAX`');
  addGauge('reads', 'api_reads_in_progress', 'Reads of MongoDB in progress');
  addGauge(
    'waiting',
    'api_reads_waiting',
    'Reads that wait for memory or a connection: above 0 for long, clients wait',
  );
}
