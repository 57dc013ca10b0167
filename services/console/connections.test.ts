import { setImmediate } from 'node:timers/promises';
import type { Admin, Kafka } from 'kafkajs';
import type { LogClient } from '../../shared/kafka/log-client.ts';
import { reconnectingKafka } from './connections.ts';

/** Clients of Kafka that note their calls. `connect` is that of the first one. */
function given(connect: () => Promise<void> = async () => undefined) {
  const calls: string[] = [];
  const client = (name: string, before: () => Promise<void>) => ({
    connect: async () => {
      calls.push(`connect ${name}`);
      await before();
    },
    disconnect: async () => void calls.push(`disconnect ${name}`),
  });
  const admin = () => client('admin', connect) as unknown as Admin;
  const log = () => client('log', async () => undefined) as unknown as LogClient;
  return { calls, kafka: reconnectingKafka({ admin } as Kafka, log) };
}
const connected = ['connect admin', 'connect log'];
const disconnected = ['disconnect admin', 'disconnect log'];

test('a first connect that fails is closed and tried again', async () => {
  const { calls, kafka } = given(() => Promise.reject(new Error('token refused')));
  for (let use = 1; use <= 2; use += 1) {
    await expect(kafka.use(async () => 'used')).rejects.toThrow('token refused');
    // The use does not wait for the disconnect.
    await setImmediate();
    expect(calls.splice(0)).toEqual(['connect admin', ...disconnected]);
  }
});

test('a connection is kept until a use fails, which closes it once, and the next one at the end', async () => {
  const { calls, kafka } = given();
  const { promise, reject } = Promise.withResolvers<never>();
  const slow = kafka.use(() => promise);
  await kafka.use(async () => 'used');
  expect(calls).toEqual(connected);
  await expect(kafka.use(() => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
  await setImmediate();
  await kafka.use(async () => 'used');
  reject(new Error('late'));
  await expect(slow).rejects.toThrow('late');
  await kafka.use(async () => 'used');
  expect(calls).toEqual([...connected, ...disconnected, ...connected]);
  await kafka.close();
  // A read that is late opens no connection again.
  await expect(kafka.use(async () => 'used')).rejects.toThrow('the console ends');
  expect(calls).toEqual([...connected, ...disconnected, ...connected, ...disconnected]);
});
