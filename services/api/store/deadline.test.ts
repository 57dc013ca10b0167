import { MongoNetworkError, MongoServerError } from 'mongodb';
import { readTimeoutMs, readWithRetries } from './deadline.ts';
import { StoreUnavailable } from './store-errors.ts';

const lost = new MongoNetworkError('the primary is gone');

describe('a read', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'] }));
  afterEach(() => jest.useRealTimers());

  test('is retried after a pause until MongoDB answers', async () => {
    const noPrimary = new MongoServerError({ ok: 0, code: 133, errmsg: 'no primary' });
    const read = jest
      .fn<Promise<string>, []>()
      .mockRejectedValueOnce(lost)
      .mockRejectedValueOnce(noPrimary)
      .mockResolvedValueOnce('answer');
    const failures: unknown[] = [];
    const answer = readWithRetries(read, (error) => failures.push(error));
    await jest.advanceTimersByTimeAsync(99);
    expect(read).toHaveBeenCalledTimes(1);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await answer).toBe('answer');
    expect(failures).toEqual([lost, noPrimary]);
  });

  const timedOut = (code: number) => new MongoServerError({ ok: 0, code, errmsg: 'time limit' });
  test.each([
    { name: 'a bug', error: new TypeError('undefined') },
    { name: 'a wrong value', error: new MongoServerError({ ok: 0, code: 2, errmsg: 'bad value' }) },
    { name: 'a generation without indexes', error: new StoreUnavailable('lacks indexes') },
    { name: 'a store that has used up its time (50)', error: timedOut(50) },
    { name: 'a store that has used up its time (262)', error: timedOut(262) },
  ])('is not retried: $name', async ({ error }) => {
    const read = jest.fn(() => Promise.reject(error));
    await expect(readWithRetries(read)).rejects.toBe(error);
    expect(read).toHaveBeenCalledTimes(1);
  });

  test.each([
    ['an interrupted read', 11_601],
    ['a user that was dropped and created again', 13],
    ['a code that this release does not know', 999_999],
  ])('is retried: %s', async (_, code) => {
    const refusal = new MongoServerError({ ok: 0, code, errmsg: 'refused' });
    const read = jest
      .fn<Promise<string>, []>()
      .mockRejectedValueOnce(refusal)
      .mockResolvedValueOnce('answer');
    const answer = readWithRetries(read);
    await jest.advanceTimersByTimeAsync(100);
    expect(await answer).toBe('answer');
  });

  test('is retried after growing pauses while MongoDB is overloaded', async () => {
    const overloaded = new MongoServerError({ ok: 0, code: 462, errmsg: 'later' });
    const read = jest.fn(() => Promise.reject(overloaded));
    const expectation = expect(readWithRetries(read)).rejects.toBe(overloaded);
    await jest.advanceTimersByTimeAsync(readTimeoutMs);
    await expectation;
    // With pauses of 100 ms there would be a hundred.
    expect(read.mock.calls.length).toBeLessThanOrEqual(6);
    expect(read.mock.calls.length).toBeGreaterThanOrEqual(3);
  });

  test('fails at its deadline with the last reason during an attempt', async () => {
    const untilAborted = ({ signal }: { signal: AbortSignal }) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    const read = jest.fn(untilAborted).mockRejectedValueOnce(lost);
    const expectation = expect(readWithRetries(read)).rejects.toBe(lost);
    await jest.advanceTimersByTimeAsync(readTimeoutMs);
    await expectation;
    expect(read).toHaveBeenCalledTimes(2);
  });
});
