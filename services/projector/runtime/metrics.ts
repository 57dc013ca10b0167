import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

/** The projector's metrics, as `/metrics` shows them. */
export function createMetrics() {
  const registry = new Registry();
  // Measured every 10 ms unless told otherwise, which is most of what a projector at rest would do.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  const registers = [registry];
  return {
    registry,
    events: new Counter({
      name: 'projector_events_total',
      help: 'Events applied, duplicates and stale ones included',
      labelNames: ['topic'],
      registers,
    }),
    deadLetters: new Counter({
      name: 'projector_dead_letters_total',
      help: 'Records set aside',
      labelNames: ['topic'],
      registers,
    }),
    late: new Counter({
      name: 'projector_late_events_total',
      help: 'Events older on arrival than what Data-As-Of had promised to be complete',
      labelNames: ['topic'],
      registers,
    }),
    lapsed: new Counter({
      name: 'projector_lapsed_conversations_total',
      help: 'Conversations freed because their retention had passed',
      registers,
    }),
    notRefreshed: new Counter({
      name: 'projector_not_refreshed_total',
      help: 'Documents that the store refused to have refreshed, since what they show makes them too large',
      labelNames: ['kind'],
      registers,
    }),
    lag: new Gauge({
      name: 'projector_lag_records',
      help: 'Records between the applied position and the end of the log',
      labelNames: ['topic', 'partition'],
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
