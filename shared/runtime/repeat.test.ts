import { repeat, type RepeatedRun } from './repeat.ts';

test('a failed run is repeated after its own pause, and no run begins after a stop', async () => {
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
  await jest.advanceTimersByTimeAsync(60_000);
  jest.useRealTimers();
  expect(startedAt.map((ms) => ms - beganMs)).toEqual([0, 10_000, 30_000, 31_000, 41_000]);
});

test('a run that makes no progress fails, and the next one begins without it', async () => {
  jest.useFakeTimers();
  const runs: (RepeatedRun & { end: () => void })[] = [];
  const errors: unknown[] = [];
  const { stop } = repeat((run) => new Promise((end) => void runs.push({ ...run, end })), {
    intervalMs: 1_000,
    stalledAfterMs: 60_000,
    onError: (error) => errors.push(error),
  });
  // given a run that makes progress once, then stands still
  await jest.advanceTimersByTimeAsync(59_000);
  runs[0]?.onProgress();
  await jest.advanceTimersByTimeAsync(59_000);
  expect({ runs: runs.length, errors }).toEqual({ runs: 1, errors: [] });
  await jest.advanceTimersByTimeAsync(1_000);
  expect({ isAborted: runs[0]?.signal.aborted, errors }).toEqual({
    isAborted: true,
    errors: [new Error('no progress for 60 s')],
  });
  // then another one begins, and its end is not that of the first
  await jest.advanceTimersByTimeAsync(1_000);
  expect({ runs: runs.length, isAborted: runs[1]?.signal.aborted }).toEqual({ runs: 2, isAborted: false });
  runs[1]?.end();
  await jest.advanceTimersByTimeAsync(1_000);
  expect({ runs: runs.length, errors: errors.length }).toEqual({ runs: 3, errors: 1 });
  runs[2]?.end();
  await stop();
  jest.useRealTimers();
});
