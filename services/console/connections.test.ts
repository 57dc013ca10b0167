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
const lost = Object.assign(new Error('lost'), { name: 'KafkaJSConnectionError' });

test('a first connect that fails is closed and tried again, even if the error is not one of kafkajs', async () => {
  // A token endpoint that rejects is no error of kafkajs.
  const { calls, kafka } = given(() => Promise.reject(new Error('token refused')));
  for (let use = 1; use <= 2; use += 1) {
    await expect(kafka.use(async () => 'used')).rejects.toThrow('token refused');
    expect(calls.splice(0)).toEqual(['connect admin', 'disconnect admin', 'disconnect log']);
  }
});

test('a connection is kept until an error of Kafka, and closed at the end', async () => {
  const { calls, kafka } = given();
  await kafka.use(async () => 'used');
  await expect(kafka.use(() => Promise.reject(new Error('a bug')))).rejects.toThrow('a bug');
  expect(calls).toEqual(connected);
  await expect(kafka.use(() => Promise.reject(lost))).rejects.toThrow('lost');
  await kafka.use(async () => 'used');
  await kafka.close();
  // A read that is late opens no connection again.
  await expect(kafka.use(async () => 'used')).rejects.toThrow('the console ends');
  expect(calls).toEqual([...connected, ...disconnected, ...connected, ...disconnected]);
});

test('clients that one of two uses has found lost are closed after the other use, whose failure leaves the new ones', async () => {
  const { calls, kafka } = given();
  const { promise, reject } = Promise.withResolvers<never>();
  const slow = kafka.use(() => promise);
  await expect(kafka.use(() => Promise.reject(lost))).rejects.toThrow('lost');
  await kafka.use(async () => 'used');
  expect(calls).toEqual([...connected, ...connected]);
  reject(lost);
  await expect(slow).rejects.toThrow('lost');
  await kafka.use(async () => 'used');
  expect(calls).toEqual([...connected, ...connected, ...disconnected]);
});
