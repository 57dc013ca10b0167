import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { registerBuildInfo } from '../../shared/runtime/release.ts';
import type { ReadBudget } from './store/read-budget.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** The metrics that the admin port serves at `/metrics`. Routes are labelled by pattern, so there are few labels. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  registerBuildInfo(registry);
  return {
    registry,
    durations: new Histogram({
      name: 'api_request_duration_seconds',
      help: 'Time from the request to the end of its response',
      labelNames: ['method', 'route', 'status'] as const,
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    inFlight: new Gauge({ name: 'api_requests_in_flight', help: 'Requests in progress', registers }),
    rateLimitFallbacks: new Counter({
      ...{ name: 'api_rate_limit_fallbacks_total', registers },
      help: 'Requests counted in this process only, because the shared rate limit store was unavailable',
    }),
    storeErrors: new Counter({
      name: 'api_store_errors_total',
      help: 'Requests refused because MongoDB could not be read',
      registers,
    }),
    requestsRefused: new Counter({
      name: 'api_requests_refused_total',
      help: 'Requests answered with 503 because a limit, or the share of their organization, was in use; by reason: requests (`API_REQUESTS_MAX`), memory (`API_ANSWERS_MB_MAX`)',
      labelNames: ['reason'] as const,
      registers,
    }),
    connectionsRefused: new Counter({
      name: 'api_connections_refused_total',
      help: 'Connections closed and HTTP/2 streams refused because `API_CONNECTIONS_MAX` or `API_CONNECTIONS_PER_ADDRESS_MAX` were open',
      registers,
    }),
    authFailuresCounted: new Counter({
      name: 'api_auth_failures_total',
      help: 'Requests without a valid key, by reason: missing, malformed, unknown (also archived or blocked)',
      labelNames: ['reason'] as const,
      registers,
    }),
    generation: new Gauge({ name: 'api_generation', help: 'The generation that is served', registers }),
    dataAge: new Gauge({
      name: 'api_data_age_seconds',
      help: 'Age of `Data-As-Of`, the served watermark',
      registers,
    }),
    tracesWritten: new Counter({
      name: 'api_request_traces_written_total',
      help: 'Request traces stored',
      registers,
    }),
    tracesLost: new Counter({
      name: 'api_request_traces_lost_total',
      help: 'Request traces that were not stored, by reason: keyless_budget, queue_full, refused (by MongoDB), shutdown',
      labelNames: ['reason'] as const,
      registers,
    }),
  };
}

/** Adds the gauges of the read budget, which each scrape reads. */
export function observeBudget({ registry }: Metrics, usage: ReadBudget['usage']): void {
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      ...{ name, help, registers: [registry] },
      collect() {
        this.set(value());
      },
    });
  gauge('api_answers_bytes', 'Memory that responses in progress hold, in bytes', () => usage().bytes);
  gauge('api_reads_in_progress', 'Reads of MongoDB in progress', () => usage().reads);
  gauge('api_reads_waiting', 'Reads that wait for memory or a connection', () => usage().waiting);
}
