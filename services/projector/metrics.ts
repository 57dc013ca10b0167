import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { registerBuildInfo } from '../../shared/runtime/release.ts';

/** The projector's Prometheus metrics, served at `/metrics`. */
export function createMetrics() {
  const registry = new Registry();
  // The default of 10 ms would be most of the work of an idle projector.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  registerBuildInfo(registry);
  const registers = [registry];
  return {
    registry,
    events: new Counter({
      name: 'projector_events_total',
      help: 'Events applied, including duplicates and stale events',
      labelNames: ['topic'],
      registers,
    }),
    deadLetters: new Counter({
      name: 'projector_dead_letters_total',
      help: 'Records stored as dead letters',
      labelNames: ['topic'],
      registers,
    }),
    late: new Counter({
      name: 'projector_late_events_total',
      help: 'Events that were older than the watermark when they arrived',
      labelNames: ['topic'],
      registers,
    }),
    expired: new Counter({
      name: 'projector_lapsed_conversations_total',
      help: 'Conversations deleted because they had expired',
      registers,
    }),
    notRefreshed: new Counter({
      name: 'projector_not_refreshed_total',
      help: 'Documents that could not be refreshed because their references make them too large',
      labelNames: ['kind'],
      registers,
    }),
    lag: new Gauge({
      name: 'projector_lag_records',
      help: 'Records between the applied position and the end of the log',
      labelNames: ['topic', 'partition'],
      registers,
    }),
    longestLag: new Gauge({
      name: 'projector_longest_lag_seconds',
      help: 'Longest lag of the generation behind the log, if that was a minute or more',
      registers,
    }),
    staleness: new Gauge({
      name: 'projector_watermark_age_seconds',
      help: 'Age of the watermark',
      registers,
    }),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;
