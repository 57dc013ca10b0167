import { KafkaJSConnectionError } from 'kafkajs';
import { createKafkaWatch } from './kafka-watch.ts';

describe('an operator is told that Kafka does not answer', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const watchInto = (told: string[]) => {
    const store = async (_: string, reason: string) => void told.push(reason);
    const clear = async () => void told.push('cleared');
    return createKafkaWatch({ store, clear }, () => new Date(0), 10_000);
  };

  it('every ten seconds while a request waits, and at a failure; an answer clears the entry once', async () => {
    const told: string[] = [];
    const { watch } = watchInto(told);
    expect(await watch(Promise.resolve(1))).toBe(1);
    await watch(Promise.resolve(2));
    expect(told.splice(0)).toEqual(['cleared']);
    const { promise, reject } = Promise.withResolvers<void>();
    const failing = watch(promise).catch((error: unknown) => error);
    jest.advanceTimersByTime(25_000);
    expect(told.splice(0)).toEqual(['no answer for 10 s', 'no answer for 10 s']);
    reject(new KafkaJSConnectionError('refused'));
    expect(await failing).toBeInstanceOf(KafkaJSConnectionError);
    const answering = Promise.withResolvers<void>();
    const waiting = watch(answering.promise);
    jest.advanceTimersByTime(10_000);
    answering.resolve();
    await waiting;
    jest.advanceTimersByTime(60_000);
    expect(told).toEqual(['refused', 'refused', 'cleared']);
  });
});
