import { jest } from '@jest/globals';
import { createOpenReads, createReading, createReadings } from './readings.ts';

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
    expect((await reading()).problem).toBe('MongoDB has not answered for 0.005 s');
  expect(reads).toBe(1);
});

test('each load of a page reads its content again, however long the last read took', async () => {
  const { nowMs, pass } = clock();
  let reads = 0;
  const slow = async () => {
    pass(2_000);
    return ++reads;
  };
  const content = createReading(slow, { everyMs: 0, nowMs });
  const loads = await Promise.all([content(), content()]);
  expect(loads.map(({ value }) => value)).toEqual([1, 1]);
  expect((await content()).value).toBe(2);
  expect((await content()).value).toBe(3);
});

test('the next load gets content that has missed the deadline, unless the content is old', async () => {
  let answer = Promise.withResolvers<string>();
  const { nowMs, pass } = clock();
  const content = createReading(() => answer.promise, { everyMs: 0, waitMs: 5, nowMs });
  const arrivesLate = async (value: string) => {
    answer = Promise.withResolvers();
    for (let load = 0; load < 3; load += 1) expect((await content()).isLate).toBe(true);
    pass(5);
    answer.resolve(value);
    await answer.promise;
    answer = Promise.withResolvers();
  };
  await arrivesLate('slow');
  expect(await content()).toMatchObject({ value: 'slow', problem: null });
  // The next load reads again.
  expect((await content()).isLate).toBe(true);
  answer.resolve('new');
  expect((await content()).value).toBe('new');
  await arrivesLate('old');
  pass(25);
  answer.resolve('newest');
  expect((await content()).value).toBe('newest');
});

/** Work that goes on until its signal aborts, as a read of MongoDB. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });

test('the readings of all pages share one bound', async () => {
  const begin = createOpenReads();
  const options = { everyMs: 1, waitMs: 5 };
  const list = createReadings(begin, (_: number, signal) => untilAborted(signal), options);
  const known = await Promise.all(Array.from({ length: 40 }, (_, query) => list(query)));
  const busy = 'The console is busy. Try again.';
  expect(known.filter(({ problem }) => problem !== busy)).toHaveLength(10);
  const explanation = createReadings(begin, (_: string, signal) => untilAborted(signal), options);
  expect((await explanation('a')).problem).toBe(busy);
});

test('clients that are refused end no read in progress and replace no value', async () => {
  const queries: number[] = [];
  const read = async (query: number, signal: AbortSignal) => {
    queries.push(query);
    return query === 100 ? 'known' : untilAborted(signal);
  };
  const content = createReadings(createOpenReads(), read, { everyMs: 60_000, waitMs: 5 });
  const known = await content(100);
  const load = async (count: number, from = 0) =>
    Promise.all(Array.from({ length: count }, (_, index) => content(from + index)));
  const late = await load(10);
  expect(late.map(({ isLate }) => isLate)).toEqual(late.map(() => true));
  const refused = await load(25, 10);
  expect(refused.map(({ problem }) => problem)).toEqual(refused.map(() => 'The console is busy. Try again.'));
  expect(await load(10)).toEqual(late);
  expect(await content(100)).toEqual({ ...known, value: 'known' });
  expect(queries).toEqual([100, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('content that has missed the deadline stays for its next load while other content is read', async () => {
  const { nowMs, pass } = clock();
  const slow = Promise.withResolvers<string>();
  const answers = [slow.promise];
  const read = async (query: string) => (query === 'slow' ? (answers.shift() ?? 'a second read') : query);
  const content = createReadings(createOpenReads(), read, { everyMs: 0, waitMs: 5, nowMs });
  expect((await content('slow')).isLate).toBe(true);
  for (let query = 0; query < 20; query += 1) await content(`${query}`);
  pass(5);
  slow.resolve('the first read');
  expect((await content('slow')).value).toBe('the first read');
});

test.each([
  ['succeeds', () => Promise.resolve('yes'), { value: 'yes', problem: null }],
  ['fails', () => Promise.reject(new Error('no')), { value: null, problem: 'no' }],
])('a read that %s frees its slot', async (_, read, known) => {
  const content = createReadings<number, string>(createOpenReads(), read, { everyMs: 1 });
  for (let query = 0; query < 20; query += 1) expect(await content(query)).toMatchObject(known);
});

test('a read ends once no request asks for it', async () => {
  jest.useFakeTimers();
  const waitMs = 5;
  const begin = createOpenReads(100);
  const signals: AbortSignal[] = [];
  const kept = (_: string, signal: AbortSignal) => {
    signals.push(signal);
    return untilAborted(signal);
  };
  const list = createReadings(begin, (_: number, signal) => untilAborted(signal), { everyMs: 1, waitMs });
  const explanation = createReadings(begin, kept, { everyMs: 0, waitMs });
  const late = async <T>(answer: Promise<T>): Promise<T> => {
    await jest.advanceTimersByTimeAsync(waitMs + 1);
    return answer;
  };
  const asked = async () => (await late(explanation('asked'))).problem;
  for (let query = 0; query < 10; query += 1) await late(list(query));
  expect(await asked()).toContain('busy');
  // The others end.
  await jest.advanceTimersByTimeAsync(100);
  expect((await late(explanation('asked'))).isLate).toBe(true);
  // A page that asks again and again keeps its own.
  for (let count = 0; count < 10; count += 1) {
    await jest.advanceTimersByTimeAsync(90);
    await asked();
  }
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await jest.advanceTimersByTimeAsync(100);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});
