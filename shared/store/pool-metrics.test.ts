import { EventEmitter } from 'node:events';
import type { MongoClient } from 'mongodb';
import { Registry } from 'prom-client';
import { registerPools } from './pool-metrics.ts';

/** A client whose events the test emits, and the values of a gauge of its pool. */
function createTestPool() {
  const client = new EventEmitter();
  const registry = new Registry();
  registerPools(registry, { data: client as unknown as MongoClient });
  const valuesOf = async (gauge: string) => {
    const metric = await registry.getSingleMetric(`support_mongodb_${gauge}`)?.get();
    return metric?.values.map(({ value }) => value);
  };
  return { client, valuesOf };
}

test('an operation waits until it gets a connection, or fails to', async () => {
  const { client, valuesOf } = createTestPool();
  client.emit('connectionCheckOutStarted');
  client.emit('connectionCheckOutStarted');
  expect(await valuesOf('checkouts_waiting')).toEqual([2]);
  client.emit('connectionCheckedOut');
  client.emit('connectionCheckOutFailed');
  expect(await valuesOf('checkouts_waiting')).toEqual([0]);
});

test('a connection is in use until it is given back, and idle until it is closed', async () => {
  const { client, valuesOf } = createTestPool();
  for (let count = 0; count < 3; count += 1) client.emit('connectionCreated');
  client.emit('connectionCheckedOut');
  expect(await valuesOf('connections')).toEqual([1, 2]);
  client.emit('connectionCheckedIn');
  client.emit('connectionClosed');
  expect(await valuesOf('connections')).toEqual([0, 2]);
});
