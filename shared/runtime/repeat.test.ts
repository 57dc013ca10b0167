import { setImmediate as turn } from 'node:timers/promises';
import { repeat } from './repeat.ts';

test('a run that is asked for begins at once, but none begins after a stop', async () => {
  let runs = 0;
  const { runNow, stop } = repeat(async () => void (runs += 1), {
    intervalMs: 3_600_000,
    onError: () => undefined,
  });
  await turn();
  runNow();
  expect(runs).toBe(2);
  await turn();
  await stop();
  runNow();
  expect(runs).toBe(2);
});

test('a failed run is repeated after a pause of its own, which may grow until a run succeeds', async () => {
  jest.useFakeTimers();
  const outcomes = [false, false, true, false, true];
  const startedAt: number[] = [];
  const run = async () => {
    startedAt.push(Date.now());
    if (outcomes[startedAt.length - 1] === false) throw new Error('refused');
  };
  const beganMs = Date.now();
  const { stop } = repeat(run, {
    intervalMs: 1_000,
    onError: () => undefined,
    retryMs: (_, failures) => failures * 10_000,
  });
  await jest.advanceTimersByTimeAsync(41_000);
  await stop();
  jest.useRealTimers();
  expect(startedAt.map((ms) => ms - beganMs)).toEqual([0, 10_000, 30_000, 31_000, 41_000]);
});
