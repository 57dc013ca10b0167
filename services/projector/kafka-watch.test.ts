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
    await jest.advanceTimersByTimeAsync(25_000);
    expect(told.splice(0)).toEqual(['no answer for 10 s', 'no answer for 10 s']);
    reject(new KafkaJSConnectionError('refused'));
    expect(await failing).toBeInstanceOf(KafkaJSConnectionError);
    const answering = Promise.withResolvers<void>();
    const waiting = watch(answering.promise);
    await jest.advanceTimersByTimeAsync(10_001);
    answering.resolve();
    await waiting;
    await jest.advanceTimersByTimeAsync(60_000);
    expect(told.splice(0)).toEqual(['refused', 'refused', 'cleared']);
    // A later silence has nothing to do with that failure.
    const silent = Promise.withResolvers<void>();
    const waitingAgain = watch(silent.promise);
    await jest.advanceTimersByTimeAsync(10_001);
    silent.resolve();
    await waitingAgain;
    expect(told).toEqual(['no answer for 10 s', 'cleared']);
  });

  it('but not while its answer has arrived, and this process was too busy to read it', async () => {
    const told: string[] = [];
    const { watch } = watchInto(told);
    await watch(Promise.resolve());
    const answering = Promise.withResolvers<void>();
    const waiting = watch(answering.promise);
    // As in an event loop that was stalled: the timer, then the answer.
    setTimeout(answering.resolve, 10_000);
    await jest.advanceTimersByTimeAsync(10_001);
    await waiting;
    expect(told).toEqual(['cleared']);
  });
});
