import { createPartitionWatermarks } from './progress.ts';

type Run = { position: number; end?: number };

/** The watermark of a partition at each run of the commit loop; the runs are a second apart, from 10,000 on. */
function readRuns(runs: Run[]) {
  const advanceMarks = createPartitionWatermarks();
  return runs.map(({ position, end }, run) =>
    advanceMarks({ key: 't/0', position, end, asOfMs: 10_000 + run * 1_000 }),
  );
}

const watermarks = (...runs: Run[]) => readRuns(runs).map(({ completeToMs }) => completeToMs);

describe('the watermark of a partition', () => {
  test('is the instant of the run if the partition is caught up', () => {
    expect(watermarks({ position: 3, end: 3 }, { position: 3, end: 3 })).toEqual([10_000, 11_000]);
  });

  test('is unknown until the partition has reached an end', () => {
    expect(watermarks({ position: 99, end: 100 }, { position: 99, end: 200 })).toEqual([0, 0]);
  });

  test('is the instant of the last run whose end the partition has reached', () => {
    const runs = [
      { position: 5, end: 10 },
      { position: 9, end: 20 },
      // Past the end of the first run, not of the second.
      { position: 10, end: 30 },
      { position: 29, end: 40 },
      { position: 30, end: 50 },
    ];
    expect(watermarks(...runs)).toEqual([0, 0, 10_000, 11_000, 12_000]);
  });

  test('is unknown in a run without an end, unless an earlier end is reached', () => {
    expect(watermarks({ position: 9 }, { position: 9, end: 12 }, { position: 12 })).toEqual([0, 0, 11_000]);
  });

  test('is at most a little older than the oldest record that waits', () => {
    // The partition is late by 500 runs of the commit loop.
    const runs = Array.from({ length: 3_000 }, (_, run) => ({ position: run * 10, end: (run + 500) * 10 }));
    // From the first end that it reaches, its watermark is at most a sixteenth older.
    let latestMs = 0;
    const ages = watermarks(...runs).map((completeToMs, run) => {
      latestMs = Math.max(latestMs, completeToMs);
      return run - (latestMs - 10_000) / 1_000;
    });
    expect(Math.max(...ages.slice(600))).toBeLessThanOrEqual(500 * (1 + 1 / 16) + 1);
  });

  test('needs only some hundred marks in memory for a long backlog', () => {
    const lagging = Array.from({ length: 5_000 }, (_, run) => ({ position: 0, end: run + 1 }));
    const catchingUp = Array.from({ length: 5_000 }, (_, run) => ({ position: run + 1 }));
    expect(new Set(watermarks(...lagging, ...catchingUp)).size).toBeLessThan(150);
  });
});

describe('the next record of a partition', () => {
  test('waits since the run that first saw it, until the partition is caught up', () => {
    const runs = [
      { position: 4, end: 4 },
      { position: 4, end: 5 },
      { position: 4, end: 6 },
      { position: 5, end: 6 },
      { position: 6, end: 6 },
    ];
    expect(readRuns(runs).map(({ waitingSinceMs }) => waitingSinceMs)).toEqual([
      null,
      11_000,
      11_000,
      12_000,
      null,
    ]);
  });
});
