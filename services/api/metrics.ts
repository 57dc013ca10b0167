import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

/** What the admin port shows at `/metrics`. Routes are labelled by pattern, so labels stay few. */
export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    durations: new Histogram({
      name: 'api_request_duration_seconds',
      help: 'From the request to the end of its response',
      labelNames: ['method', 'route', 'status'] as const,
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    inFlight: new Gauge({ name: 'api_requests_in_flight', help: 'Requests being answered', registers }),
    rateLimitFallbacks: new Counter({
      name: 'api_rate_limit_fallbacks_total',
      help: 'Requests counted in this process alone, as the shared rate limit store was away',
      registers,
    }),
    storeErrors: new Counter({
      name: 'api_store_errors_total',
      help: 'Requests refused because the store could not be read',
      registers,
    }),
    requestsRefused: new Counter({
      name: 'api_requests_refused_total',
      help: 'Requests answered with 503, as `API_REQUESTS_MAX`, or the share of their organization, were under way',
      registers,
    }),
    connectionsRefused: new Counter({
      name: 'api_connections_refused_total',
      help: 'Connections closed at once and HTTP/2 streams refused, as `API_CONNECTIONS_MAX`, or `API_CONNECTIONS_PER_ADDRESS_MAX`, were open',
      registers,
    }),
    tracesWritten: new Counter({
      name: 'api_request_traces_written_total',
      help: 'Request traces stored',
      registers,
    }),
    tracesLost: new Counter({
      name: 'api_request_traces_lost_total',
      help: 'Request traces that will never be stored: keyless_budget, queue_full, refused by the store, left at shutdown',
      labelNames: ['reason'] as const,
      registers,
    }),
  };
}
