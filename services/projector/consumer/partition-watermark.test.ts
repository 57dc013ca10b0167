import { createPartitionWatermarks } from './partition-watermark.ts';

type Run = { position: number; end: number; appliedToMs?: number; oldestPendingMs?: number };

/** The watermark of a partition at each run of the commit loop; the runs are a second apart, from 10,000 on. */
function watermarks(...runs: Run[]): number[] {
  const completeToMs = createPartitionWatermarks();
  return runs.map(({ position, end, appliedToMs = null, oldestPendingMs = null }, run) => {
    const snapshot = { topic: 't', partition: 0, position, appliedToMs, oldestPendingMs, progressCount: 0 };
    return completeToMs(snapshot, end, 10_000 + run * 1_000);
  });
}

describe('the watermark of a partition', () => {
  it('is the instant before its end was read, if it is caught up', () => {
    expect(watermarks({ position: 3, end: 3 }, { position: 3, end: 3, appliedToMs: 5 })).toEqual([
      10_000, 11_000,
    ]);
  });

  it('is the time of its last event while it catches up', () => {
    const behind = { end: 100, oldestPendingMs: 8_000 };
    expect(watermarks({ ...behind, position: 3, appliedToMs: 7_000 })).toEqual([7_000]);
  });

  it('is not after the oldest pending record, even if a fast clock dated an earlier record later', () => {
    const behind = { end: 100, oldestPendingMs: 4_000 };
    expect(watermarks({ ...behind, position: 3, appliedToMs: 9_000 })).toEqual([4_000]);
    expect(watermarks({ ...behind, position: 3, appliedToMs: 99_000 })).toEqual([4_000]);
  });

  it('is not after now, even if all clocks are fast', () => {
    expect(watermarks({ position: 3, end: 100, appliedToMs: 99_000, oldestPendingMs: 98_000 })).toEqual([
      10_000,
    ]);
  });

  it('is 0 while no pending record has been fetched', () => {
    expect(watermarks({ position: 3, end: 100, appliedToMs: 9_000 })).toEqual([0]);
  });

  it('is the start of the last run whose end it has reached, even if it never catches up', () => {
    const stale = { appliedToMs: 1_000, oldestPendingMs: 2_000 };
    const runs = [
      { position: 5, end: 10 },
      { position: 9, end: 20 },
      // Past the end of the first run, not of the second.
      { position: 10, end: 30 },
      { position: 29, end: 40 },
      { position: 30, end: 50 },
    ];
    expect(watermarks(...runs.map((run) => ({ ...run, ...stale })))).toEqual([
      1_000, 1_000, 10_000, 1_000, 12_000,
    ]);
  });

  it('is 0 if its end is unknown', () => {
    const snapshot = {
      topic: 't',
      partition: 0,
      position: 9,
      appliedToMs: 9,
      oldestPendingMs: null,
      progressCount: 0,
    };
    expect(createPartitionWatermarks()(snapshot, undefined, 10_000)).toBe(0);
  });
});
