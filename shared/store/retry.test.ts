import { jest } from '@jest/globals';
import { MongoServerError } from 'mongodb';
import { retry } from './retry.ts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const failing = (error: Error) => () => Promise.reject(error);

test('a failure is reported with its number and its pause, which the policy gives, until the work succeeds', async () => {
  const reports: unknown[] = [];
  const outcomes = [new Error('first'), new Error('second'), null];
  const work = async () => {
    const error = outcomes.shift();
    if (error) throw error;
    return 'done';
  };
  const onFailed = (error: unknown, attempt: number, waitMs: number) =>
    reports.push([(error as Error).message, attempt, waitMs]);
  const done = retry({ pauseMs: (attempt) => 100 * attempt, onFailed }, work);
  await jest.advanceTimersByTimeAsync(299);
  expect(outcomes).toEqual([null]);
  await jest.advanceTimersByTimeAsync(1);
  expect(await done).toBe('done');
  expect(reports).toEqual([
    ['first', 1, 100],
    ['second', 2, 200],
  ]);
});

test('an error of onFailed ends the attempts', async () => {
  const lastError = new Error('given up');
  const onFailed = () => {
    throw lastError;
  };
  await expect(retry({ pauseMs: 100, onFailed }, failing(new Error('any')))).rejects.toBe(lastError);
});

test('the pause is longer while MongoDB is overloaded', async () => {
  const overloaded = new MongoServerError({ errorLabels: ['SystemOverloadedError'] });
  const pauses: number[] = [];
  const onFailed = (_: unknown, attempt: number, waitMs: number) => {
    pauses.push(waitMs);
    if (attempt === 3) throw overloaded;
  };
  const ended = expect(retry({ pauseMs: 1, onFailed }, failing(overloaded))).rejects.toBe(overloaded);
  await jest.advanceTimersByTimeAsync(60_000);
  await ended;
  expect(Math.min(...pauses)).toBeGreaterThan(100);
});

test('an abort ends the pause, and no attempt follows', async () => {
  const controller = new AbortController();
  let attempts = 0;
  const work = () => {
    attempts += 1;
    return Promise.reject(new Error('any'));
  };
  const onFailed = (error: unknown) => {
    if (controller.signal.aborted) throw error;
  };
  const ended = expect(
    retry({ pauseMs: 1_000_000, onFailed, signal: controller.signal }, work),
  ).rejects.toThrow('given up');
  await jest.advanceTimersByTimeAsync(10);
  controller.abort(new Error('given up'));
  await jest.advanceTimersByTimeAsync(10);
  await ended;
  expect(attempts).toBe(1);
});
