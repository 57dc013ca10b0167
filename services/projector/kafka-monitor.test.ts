import { KafkaJSConnectionError } from 'kafkajs';
import { createKafkaMonitor } from './kafka-monitor.ts';

describe('a projector announces that Kafka does not answer', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const monitorInto = (announced: string[]) =>
    createKafkaMonitor({ set: ({ state, reason }) => announced.push(`${state}: ${reason}`) }, 10_000);

  test('after a wait of ten seconds or a failure, until the next answer', async () => {
    const announced: string[] = [];
    const { track } = monitorInto(announced);
    expect(await track(Promise.resolve(1))).toBe(1);
    expect(announced.splice(0)).toEqual(['running: null']);
    const { promise, reject } = Promise.withResolvers<void>();
    const failing = track(promise).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(9_999);
    expect(announced).toEqual([]);
    await jest.advanceTimersByTimeAsync(2);
    expect(announced.splice(0)).toEqual(['cut_off: no answer for 10 s']);
    reject(new KafkaJSConnectionError('refused'));
    expect(await failing).toBeInstanceOf(KafkaJSConnectionError);
    const answering = Promise.withResolvers<void>();
    const waiting = track(answering.promise);
    await jest.advanceTimersByTimeAsync(10_001);
    answering.resolve();
    await waiting;
    await jest.advanceTimersByTimeAsync(60_000);
    expect(announced.splice(0)).toEqual(['cut_off: refused', 'cut_off: refused', 'running: null']);
    // A later silence has nothing to do with that failure.
    const silent = Promise.withResolvers<void>();
    const waitingAgain = track(silent.promise);
    await jest.advanceTimersByTimeAsync(10_001);
    silent.resolve();
    await waitingAgain;
    expect(announced).toEqual(['cut_off: no answer for 10 s', 'running: null']);
  });

  test('unless the answer has arrived while the process was too busy to read it', async () => {
    const announced: string[] = [];
    const { track } = monitorInto(announced);
    await track(Promise.resolve());
    const answering = Promise.withResolvers<void>();
    const waiting = track(answering.promise);
    // As in an event loop that was stalled: the timer, then the answer.
    setTimeout(answering.resolve, 10_000);
    await jest.advanceTimersByTimeAsync(10_001);
    await waiting;
    expect(announced).toEqual(['running: null', 'running: null']);
  });
});
