import { EventEmitter } from 'node:events';
import type { MongoClient } from 'mongodb';
import { Registry } from 'prom-client';
import { registerPools } from './pool-metrics.ts';

test('an operation waits until it gets a connection, or fails to', async () => {
  const [client, registry] = [new EventEmitter(), new Registry()];
  registerPools(registry, { data: client as unknown as MongoClient });
  const waiting = async () => {
    const metric = await registry.getSingleMetric('support_mongodb_checkouts_waiting')?.get();
    return metric?.values.map(({ value }) => value);
  };
  client.emit('connectionCheckOutStarted');
  client.emit('connectionCheckOutStarted');
  expect(await waiting()).toEqual([2]);
  client.emit('connectionCheckedOut');
  client.emit('connectionCheckOutFailed');
  expect(await waiting()).toEqual([0]);
});
