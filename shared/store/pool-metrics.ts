import type { MongoClient } from 'mongodb';
import { Gauge, type Registry } from 'prom-client';

/**
 * Registers the gauges of the connection pools of both services. Each scrape reads counts that the driver's pool events
 * keep, so call this before the clients connect.
 */
export function registerPools(registry: Registry, pools: Record<string, MongoClient>): void {
  const usages = Object.entries(pools).map(([pool, client]) => ({ pool, usage: countPool(client) }));
  const registers = [registry];
  new Gauge({
    name: 'support_mongodb_connections',
    help: 'Connections to MongoDB, by pool and state: `in_use`, `idle`; a pool without idle connections may be too small',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const { pool, usage } of usages) {
        this.set({ pool, state: 'in_use' }, usage.inUse);
        this.set({ pool, state: 'idle' }, Math.max(0, usage.open - usage.inUse));
      }
    },
  });
  new Gauge({
    name: 'support_mongodb_checkouts_waiting',
    help: 'Operations that wait for a connection to MongoDB, by pool: if it stays above 0, the pool is too small or MongoDB is too slow',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const { pool, usage } of usages) this.set({ pool }, usage.waiting);
    },
  });
}

/** Counts the connections of a client, and the operations that wait for one. */
function countPool(client: MongoClient) {
  const usage = { open: 0, inUse: 0, waiting: 0 };
  client.on('connectionCreated', () => {
    usage.open += 1;
  });
  client.on('connectionClosed', () => {
    usage.open -= 1;
  });
  client.on('connectionCheckOutStarted', () => {
    usage.waiting += 1;
  });
  client.on('connectionCheckOutFailed', () => {
    usage.waiting -= 1;
  });
  client.on('connectionCheckedOut', () => {
    usage.waiting -= 1;
    usage.inUse += 1;
  });
  client.on('connectionCheckedIn', () => {
    usage.inUse -= 1;
  });
  return usage;
}
