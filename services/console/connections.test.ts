import { setImmediate } from 'node:timers/promises';
import type { Brokers } from '../../shared/kafka/brokers.ts';
import { createReconnectingKafka } from './connections.ts';

/** Clients of Kafka that note their calls. */
function createTestKafka(connect: () => Promise<void> = async () => undefined) {
  const calls: string[] = [];
  const create = () => ({
    connect: async () => {
      calls.push('connect');
      await connect();
    },
    disconnect: async () => void calls.push('disconnect'),
  });
  return { calls, kafka: createReconnectingKafka(create as () => Brokers) };
}

test('a first connect that fails is closed and tried again', async () => {
  const { calls, kafka } = createTestKafka(() => Promise.reject(new Error('token refused')));
  for (let use = 1; use <= 2; use += 1) {
    await expect(kafka.use(async () => 'used')).rejects.toThrow('token refused');
    // The use does not wait for the disconnect.
    await setImmediate();
    expect(calls.splice(0)).toEqual(['connect', 'disconnect']);
  }
});

test('a connection is kept until a use fails', async () => {
  const { calls, kafka } = createTestKafka();
  const { promise, reject } = Promise.withResolvers<never>();
  const slow = kafka.use(() => promise);
  await kafka.use(async () => 'used');
  expect(calls).toEqual(['connect']);
  await expect(kafka.use(() => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
  await setImmediate();
  await kafka.use(async () => 'used');
  reject(new Error('late'));
  await expect(slow).rejects.toThrow('late');
  await kafka.use(async () => 'used');
  expect(calls).toEqual(['connect', 'disconnect', 'connect']);
  await kafka.close();
  // A read that is late opens no connection again.
  await expect(kafka.use(async () => 'used')).rejects.toThrow('the console ends');
  expect(calls).toEqual(['connect', 'disconnect', 'connect', 'disconnect']);
});
