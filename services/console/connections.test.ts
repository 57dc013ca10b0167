import { Kafka, type Admin } from 'kafkajs';
import { reconnectingKafka } from './connections.ts';

test('a first connect that fails is tried again, even if the error is not one of kafkajs', async () => {
  let connects = 0;
  const connect = async () => {
    connects += 1;
    // A token endpoint that rejects is no error of kafkajs.
    throw new Error('token refused');
  };
  const admin = () => ({ connect, disconnect: async () => undefined }) as unknown as Admin;
  const kafka = reconnectingKafka(Object.assign(new Kafka({ brokers: ['localhost:1'] }), { admin }));
  for (let use = 1; use <= 2; use += 1) {
    await expect(kafka.use(async () => 'used')).rejects.toThrow('token refused');
    expect(connects).toBe(use);
  }
  await kafka.close();
});
