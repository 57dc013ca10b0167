import { createPositions } from './positions.ts';

const stalledMs = 5_000;

/** Positions under a clock that stands still until it is told to go on. */
function given(partitions: Record<string, { position?: number; end?: number }>) {
  let nowMs = 1_000;
  const positions = createPositions(() => nowMs);
  for (const [key, known] of Object.entries(partitions)) positions.report(key, known);
  return { positions, pass: (ms: number) => (nowMs += ms) };
}

describe('an offset counts as applied', () => {
  it('once the position lies behind it, and not while it is at it or nothing is known', () => {
    const { positions } = given({ 't/0': { position: 5, end: 9 } });
    expect([4, 5].map((offset) => positions.isApplied('t/0', offset))).toEqual([true, false]);
    expect(positions.isApplied('t/1', 0)).toBe(false);
  });

  it('for good: a report of less does not take it back', () => {
    const { positions } = given({ 't/0': { position: 5, end: 9 } });
    positions.report('t/0', { position: 2 });
    positions.report('t/0', { end: 3 });
    expect(positions.isApplied('t/0', 4)).toBe(true);
    expect(positions.goals(['t'])).toEqual(new Map([['t/0', 9]]));
  });
});

describe('goals', () => {
  it('are the ends of the partitions that are behind, of the topics asked for alone', () => {
    const { positions } = given({
      'a.tags/0': { position: 3, end: 3 },
      'a.tags/1': { position: 3, end: 8 },
      'a.tags.more/0': { end: 5 },
      'a.users/0': { end: 2 },
    });
    expect(positions.goals(['a.tags', 'a.users'])).toEqual(
      new Map([
        ['a.tags/1', 8],
        ['a.users/0', 2],
      ]),
    );
    expect(positions.goals([])).toEqual(new Map());
  });

  it('are met where the position has reached them, whatever was published since', () => {
    const { positions } = given({ 't/0': { end: 8 } });
    const goals = positions.goals(['t']);
    positions.report('t/0', { end: 100 });
    positions.report('t/0', { position: 7 });
    expect(positions.isShortOf(goals)).toBe(true);
    positions.report('t/0', { position: 8 });
    expect(positions.isShortOf(goals)).toBe(false);
  });
});

describe('a partition that does not move', () => {
  it('is waited for until it has stood still for five seconds, and again once it moves', () => {
    const { positions, pass } = given({ 't/0': { end: 8 } });
    const goals = positions.goals(['t']);
    pass(stalledMs - 1);
    expect(positions.isShortOf(goals)).toBe(true);
    pass(1);
    expect(positions.isShortOf(goals)).toBe(false);
    positions.report('t/0', { position: 1 });
    expect(positions.isShortOf(goals)).toBe(true);
  });

  it('does not seem to move because its position is reported again, or more is published on it', () => {
    const { positions, pass } = given({ 't/0': { position: 2, end: 8 } });
    const goals = positions.goals(['t']);
    pass(stalledMs);
    positions.report('t/0', { position: 2, end: 9 });
    expect(positions.isShortOf(goals)).toBe(false);
  });

  it('has its time from when something came to be applied, not from when it was last busy', () => {
    // given one that was caught up for long
    const { positions, pass } = given({ 't/0': { position: 2, end: 2 } });
    pass(10 * stalledMs);
    // when records come
    positions.report('t/0', { end: 8 });
    // then it is waited for
    expect(positions.isShortOf(positions.goals(['t']))).toBe(true);
  });

  it('keeps nobody from waiting for another that moves', () => {
    const { positions, pass } = given({ 'stuck/0': { end: 8 }, 'moving/0': { end: 8 } });
    const goals = positions.goals(['stuck', 'moving']);
    pass(stalledMs);
    positions.report('moving/0', { position: 1 });
    expect(positions.isShortOf(goals)).toBe(true);
    positions.report('moving/0', { position: 8 });
    expect(positions.isShortOf(goals)).toBe(false);
  });
});
