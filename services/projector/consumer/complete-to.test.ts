import { createCompleteness, oldestMs } from './complete-to.ts';

type Standing = { position: number; end: number; appliedToMs?: number; waitingSinceMs?: number };

/** What a partition is complete up to, turn by turn, a second apart from 10,000 on. */
function turns(...standings: Standing[]): number[] {
  const completeToMs = createCompleteness();
  return standings.map(({ position, end, appliedToMs = null, waitingSinceMs = null }, turn) => {
    const at = { topic: 't', partition: 0, position, appliedToMs, waitingSinceMs, progressCount: 0 };
    return completeToMs(at, end, 10_000 + turn * 1_000);
  });
}

describe('a partition is complete', () => {
  it('up to the instant before its end was read, where it is caught up', () => {
    expect(turns({ position: 3, end: 3 }, { position: 3, end: 3, appliedToMs: 5 })).toEqual([10_000, 11_000]);
  });

  it('up to its last event, while it catches up', () => {
    const behind = { end: 100, waitingSinceMs: 8_000 };
    expect(turns({ ...behind, position: 3, appliedToMs: 7_000 })).toEqual([7_000]);
  });

  it('no further than the oldest record that waits, whatever a fast clock has written before it', () => {
    const behind = { end: 100, waitingSinceMs: 4_000 };
    expect(turns({ ...behind, position: 3, appliedToMs: 9_000 })).toEqual([4_000]);
    expect(turns({ ...behind, position: 3, appliedToMs: 99_000 })).toEqual([4_000]);
  });

  it('no further than now, where all clocks are fast', () => {
    expect(turns({ position: 3, end: 100, appliedToMs: 99_000, waitingSinceMs: 98_000 })).toEqual([10_000]);
  });

  it('up to nothing new, where nothing is known of what waits', () => {
    expect(turns({ position: 3, end: 100, appliedToMs: 9_000 })).toEqual([0]);
  });

  it('up to the turn whose end it has reached, though it never catches up', () => {
    const stale = { appliedToMs: 1_000, waitingSinceMs: 2_000 };
    const standings = [
      { position: 5, end: 10 },
      { position: 9, end: 20 },
      // Past the end of the first turn, not of the second.
      { position: 10, end: 30 },
      { position: 29, end: 40 },
      { position: 30, end: 50 },
    ];
    expect(turns(...standings.map((one) => ({ ...one, ...stale })))).toEqual([
      1_000, 1_000, 10_000, 1_000, 12_000,
    ]);
  });

  it('up to nothing, where its end is not known', () => {
    const at = {
      topic: 't',
      partition: 0,
      position: 9,
      appliedToMs: 9,
      waitingSinceMs: null,
      progressCount: 0,
    };
    expect(createCompleteness()(at, undefined, 10_000)).toBe(0);
  });
});

describe('the oldest of what waits', () => {
  const published = (timestampMs: number) => ({
    ...{ key: null, value: null, headers: {} },
    position: { partition: 0, offset: 0, timestampMs },
  });

  it.each<[string, number[], number | null, number | null]>([
    ['is none where nothing waits', [], null, null],
    ['counts by when it was published', [7, 8], 7, 7],
    ['counts by when the first happened, where that is earlier', [7, 8], 5, 5],
    ['may be behind one of a fast clock', [99, 8, 9], 99, 8],
    ['may be no event', [7, 8], null, 7],
  ])('%s', (_, timestamps, firstMs, expected) => {
    expect(oldestMs(timestamps.map(published), () => firstMs)).toBe(expected);
  });
});
