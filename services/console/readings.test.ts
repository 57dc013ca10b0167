import { jest } from '@jest/globals';
import { html } from '../../shared/pages/html.ts';
import { createOpenReads, createReading, createReadings, createRenderWithDeadline } from './readings.ts';

afterEach(() => jest.useRealTimers());

/** A clock that only a test moves. */
const clock = () => {
  let ms = 0;
  return {
    nowMs: () => ms,
    pass: (more: number) => {
      ms += more;
    },
  };
};

test('clients share one read until its time is over', async () => {
  const { nowMs, pass } = clock();
  let reads = 0;
  const reading = createReading(async () => ++reads, { everyMs: 1_000, nowMs });
  const known = await Promise.all([reading(), reading(), reading()]);
  expect(known.map(({ value }) => value)).toEqual([1, 1, 1]);
  pass(999);
  expect((await reading()).value).toBe(1);
  pass(1);
  expect((await reading()).value).toBe(2);
});

test('a slow read takes at most a fifth of the time', async () => {
  const { nowMs, pass } = clock();
  let reads = 0;
  const slow = async () => {
    pass(2_000);
    reads += 1;
  };
  const reading = createReading(slow, { everyMs: 1_000, nowMs });
  await reading();
  pass(9_999);
  await reading();
  expect(reads).toBe(1);
  pass(1);
  await reading();
  expect(reads).toBe(2);
});

test('a failed read keeps the last value with its time and names the server', async () => {
  const { nowMs, pass } = clock();
  const outcomes: (() => number)[] = [
    () => 7,
    () => {
      throw Object.assign(new Error('connect ECONNREFUSED'), { name: 'KafkaJSConnectionError' });
    },
    () => 8,
  ];
  const reading = createReading(async () => outcomes.shift()?.() ?? 0, { everyMs: 10, nowMs });
  const first = await reading();
  pass(50);
  const problem = 'Kafka (KAFKA_BROKERS): connect ECONNREFUSED';
  expect(await reading()).toEqual({ value: 7, at: first.at, problem });
  pass(9);
  expect(await reading()).toMatchObject({ problem });
  pass(50);
  expect(await reading()).toMatchObject({ value: 8, problem: null });
});

test('a read that hangs delays clients only until the deadline', async () => {
  let reads = 0;
  const hanging = () => {
    reads += 1;
    return new Promise<never>(() => undefined);
  };
  const reading = createReading(hanging, { everyMs: 1, waitMs: 5 });
  for (let client = 0; client < 3; client += 1)
    expect((await reading()).problem).toBe('MongoDB or Kafka has not answered for 0.005 s');
  expect(reads).toBe(1);
});

test('content that hangs ends at the deadline and is refused while ten hang', async () => {
  const render = createRenderWithDeadline(createOpenReads(), 5);
  const hanging = () => new Promise<never>(() => undefined);
  const answers = await Promise.all(Array.from({ length: 11 }, (_, index) => render(`${index}`, hanging)));
  expect(answers.filter(({ html: text }) => text.includes('has not answered'))).toHaveLength(10);
  expect(answers.at(-1)?.html).toContain('The console is busy. Try again.');
  // a client of content in progress is not refused, because it costs no further read
  expect((await render('0', hanging)).html).toContain('has not answered');
  const free = createRenderWithDeadline(createOpenReads(), 5_000);
  for (let count = 0; count < 20; count += 1)
    expect(await free(`${count}`, async () => html`yes`)).toEqual(html`yes`);
  const failing = () => free('failing', () => Promise.reject(new Error('<b>no</b>')));
  for (let count = 0; count < 20; count += 1) expect((await failing()).html).toContain('&#60;b&#62;no');
});

test('the next request gets content that has missed the deadline', async () => {
  const render = createRenderWithDeadline(createOpenReads(), 5);
  const { promise, resolve } = Promise.withResolvers<ReturnType<typeof html>>();
  let reads = 0;
  const slow = () => {
    reads += 1;
    return promise;
  };
  for (let request = 0; request < 3; request += 1)
    expect((await render('a', slow)).html).toContain('It is still asked');
  resolve(html`slow`);
  expect(await render('a', slow)).toEqual(html`slow`);
  expect(reads).toBe(1);
  // and a later request reads it again
  expect(await render('a', async () => html`new`)).toEqual(html`new`);
});

/** Work that goes on until its signal aborts, as a read of MongoDB. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });

test('lists and contents share one bound', async () => {
  const begin = createOpenReads();
  const list = createReadings(begin, (_: number, signal) => untilAborted(signal), { everyMs: 1, waitMs: 5 });
  const known = await Promise.all(Array.from({ length: 40 }, (_, query) => list(query)));
  const busy = 'The console is busy. Try again.';
  expect(known.filter(({ problem }) => problem !== busy)).toHaveLength(10);
  const render = createRenderWithDeadline(begin, 5);
  expect((await render('a', untilAborted)).html).toContain(busy);
});

test('a read ends once no request asks for it', async () => {
  jest.useFakeTimers();
  const waitMs = 5;
  const begin = createOpenReads(100);
  const render = createRenderWithDeadline(begin, waitMs);
  const list = createReadings(begin, (_: string, signal) => untilAborted(signal), { everyMs: 1, waitMs });
  const late = async <T>(answer: Promise<T>): Promise<T> => {
    await jest.advanceTimersByTimeAsync(waitMs + 1);
    return answer;
  };
  const signals: AbortSignal[] = [];
  const kept = (signal: AbortSignal) => {
    signals.push(signal);
    return untilAborted(signal);
  };
  const asked = async () => (await late(render('asked', kept))).html;
  await late(list('left'));
  for (let count = 0; count < 9; count += 1) await late(render(`left ${count}`, untilAborted));
  expect(await asked()).toContain('busy');
  // The others end.
  await jest.advanceTimersByTimeAsync(100);
  expect(await asked()).not.toContain('busy');
  // A page that asks again and again keeps its own.
  for (let count = 0; count < 10; count += 1) {
    await jest.advanceTimersByTimeAsync(90);
    await asked();
  }
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await jest.advanceTimersByTimeAsync(100);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});
