import { createPositions } from './positions.ts';

const stalledMs = 5_000;

/** Positions with a clock that only moves when the test calls `pass`. */
function given(partitions: Record<string, { position?: number; end?: number }>) {
  let nowMs = 1_000;
  const positions = createPositions(() => nowMs);
  for (const [key, known] of Object.entries(partitions)) positions.observe(key, known);
  return { positions, pass: (ms: number) => (nowMs += ms) };
}

describe('an offset counts as applied', () => {
  it('once the position is after it, not while it is the position or the partition is unknown', () => {
    const { positions } = given({ 't/0': { position: 5, end: 9 } });
    expect([4, 5].map((offset) => positions.isApplied('t/0', offset))).toEqual([true, false]);
    expect(positions.isApplied('t/1', 0)).toBe(false);
  });

  it('permanently: a lower position reported later does not change it', () => {
    const { positions } = given({ 't/0': { position: 5, end: 9 } });
    positions.observe('t/0', { position: 2 });
    positions.observe('t/0', { end: 3 });
    expect(positions.isApplied('t/0', 4)).toBe(true);
    expect(positions.catchUpTargets(['t'])).toEqual(new Map([['t/0', 9]]));
  });
});

describe('catch-up targets', () => {
  it('are the end offsets of the lagging partitions of the given topics', () => {
    const { positions } = given({
      'a.tags/0': { position: 3, end: 3 },
      'a.tags/1': { position: 3, end: 8 },
      'a.tags.more/0': { end: 5 },
      'a.users/0': { end: 2 },
    });
    expect(positions.catchUpTargets(['a.tags', 'a.users'])).toEqual(
      new Map([
        ['a.tags/1', 8],
        ['a.users/0', 2],
      ]),
    );
    expect(positions.catchUpTargets([])).toEqual(new Map());
  });
});

describe('a partition that does not move', () => {
  it('does not count as moving because its position is reported again or more is published', () => {
    const { positions, pass } = given({ 't/0': { position: 2, end: 8 } });
    const targets = positions.catchUpTargets(['t']);
    pass(stalledMs);
    positions.observe('t/0', { position: 2, end: 9 });
    expect(positions.isCatchingUp(targets)).toBe(false);
  });

  it('has five seconds from the first new record, not from its last move', () => {
    // given a partition that has long been caught up
    const { positions, pass } = given({ 't/0': { position: 2, end: 2 } });
    pass(10 * stalledMs);
    positions.observe('t/0', { end: 8 });
    expect(positions.isCatchingUp(positions.catchUpTargets(['t']))).toBe(true);
  });

  it('does not end the wait for another partition that moves', () => {
    const { positions, pass } = given({ 'stuck/0': { end: 8 }, 'moving/0': { end: 8 } });
    const targets = positions.catchUpTargets(['stuck', 'moving']);
    pass(stalledMs);
    positions.observe('moving/0', { position: 1 });
    expect(positions.isCatchingUp(targets)).toBe(true);
    positions.observe('moving/0', { position: 8 });
    expect(positions.isCatchingUp(targets)).toBe(false);
  });
});
