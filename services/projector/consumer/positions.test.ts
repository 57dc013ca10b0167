import { createPositions, createWaitForTurn } from './positions.ts';

const stalledMs = 5_000;

/**
 * Positions, by default of `contacts`, to which the documents of `tickets` refer. The clock only moves when the test calls
 * `pass`.
 */
function given(
  partitions: Record<string, { position?: number; end?: number }> = { 'contacts/0': { end: 1_000 } },
) {
  let nowMs = 1_000;
  const positions = createPositions(() => nowMs);
  for (const [key, known] of Object.entries(partitions)) positions.report(key, known);
  const asked: string[] = [];
  const waitForTurn = createWaitForTurn(positions, (topic) => {
    asked.push(topic);
    return topic === 'tickets' ? ['contacts'] : [];
  });
  const stopping = new AbortController();
  /** Waits, calling `during` at each poll, at most ten times. Returns the number of polls. */
  const wait = async (
    lag: number,
    during: (poll: number) => void = () => undefined,
    { topic = 'tickets', position = 0 } = {},
  ) => {
    let polls = 0;
    const onWait = () => {
      polls += 1;
      if (polls > 10) throw new Error('it waits forever');
      during(polls);
    };
    const turn = { topic, partition: 0, position, end: () => position + lag };
    await waitForTurn(turn, stopping.signal, onWait);
    return polls;
  };
  return { positions, asked, wait, pass: (ms: number) => (nowMs += ms), stop: () => stopping.abort() };
}

describe('an offset counts as applied', () => {
  it('once the position is after it, not while it is the position or the partition is unknown', () => {
    const { positions } = given({ 't/0': { position: 5, end: 9 } });
    expect([4, 5].map((offset) => positions.isApplied('t/0', offset))).toEqual([true, false]);
    expect(positions.isApplied('t/1', 0)).toBe(false);
  });

  it('permanently: a lower position reported later does not change it', () => {
    const { positions } = given({ 't/0': { position: 5, end: 9 } });
    positions.report('t/0', { position: 2 });
    positions.report('t/0', { end: 3 });
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

  it('are reached at that offset, although more was published since', () => {
    const { positions } = given({ 't/0': { end: 8 } });
    const targets = positions.catchUpTargets(['t']);
    positions.report('t/0', { end: 100 });
    positions.report('t/0', { position: 7 });
    expect(positions.isCatchingUp(targets)).toBe(true);
    positions.report('t/0', { position: 8 });
    expect(positions.isCatchingUp(targets)).toBe(false);
  });
});

describe('a partition that does not move', () => {
  it('is waited for until it has not moved for five seconds, and again once it moves', () => {
    const { positions, pass } = given({ 't/0': { end: 8 } });
    const targets = positions.catchUpTargets(['t']);
    pass(stalledMs - 1);
    expect(positions.isCatchingUp(targets)).toBe(true);
    pass(1);
    expect(positions.isCatchingUp(targets)).toBe(false);
    positions.report('t/0', { position: 1 });
    expect(positions.isCatchingUp(targets)).toBe(true);
  });

  it('does not count as moving because its position is reported again or more is published', () => {
    const { positions, pass } = given({ 't/0': { position: 2, end: 8 } });
    const targets = positions.catchUpTargets(['t']);
    pass(stalledMs);
    positions.report('t/0', { position: 2, end: 9 });
    expect(positions.isCatchingUp(targets)).toBe(false);
  });

  it('has five seconds from the first new record, not from its last move', () => {
    // given a partition that has long been caught up
    const { positions, pass } = given({ 't/0': { position: 2, end: 2 } });
    pass(10 * stalledMs);
    // when records are published
    positions.report('t/0', { end: 8 });
    // then it is waited for
    expect(positions.isCatchingUp(positions.catchUpTargets(['t']))).toBe(true);
  });

  it('does not end the wait for another partition that moves', () => {
    const { positions, pass } = given({ 'stuck/0': { end: 8 }, 'moving/0': { end: 8 } });
    const targets = positions.catchUpTargets(['stuck', 'moving']);
    pass(stalledMs);
    positions.report('moving/0', { position: 1 });
    expect(positions.isCatchingUp(targets)).toBe(true);
    positions.report('moving/0', { position: 8 });
    expect(positions.isCatchingUp(targets)).toBe(false);
  });
});

describe('a partition with a backlog', () => {
  it('waits until its prerequisite topics have been applied', async () => {
    const { positions, wait } = given();
    const polls = await wait(200, (poll) => positions.report('contacts/0', { position: poll * 400 }));
    expect(polls).toBe(3);
  });

  it('waits for the records that existed when the wait began, not for later ones', async () => {
    const { positions, wait } = given({ 'contacts/0': { end: 1_000 } });
    await wait(500, (poll) =>
      positions.report('contacts/0', { position: poll * 500, end: 1_000 + poll * 500 }),
    );
    // and its next batches do not wait for later records either
    expect(await wait(300)).toBe(0);
  });

  it('waits again after it had caught up', async () => {
    const { positions, wait } = given({ 'contacts/0': { position: 1_000, end: 1_000 } });
    expect(await wait(500)).toBe(0);
    positions.report('contacts/0', { end: 2_000 });
    expect(await wait(500)).toBe(0);
    expect(await wait(199)).toBe(0);
    expect(await wait(500, () => positions.report('contacts/0', { position: 2_000 }))).toBe(1);
  });

  it('does not wait for a stalled partition', async () => {
    const { wait, pass } = given();
    expect(await wait(500, () => pass(2_500))).toBe(2);
  });

  it('does not wait for more than ten minutes, however steadily the others move', async () => {
    const { positions, wait, pass } = given();
    const polls = await wait(500, (poll) => {
      positions.report('contacts/0', { position: poll });
      pass(4_000);
      if (poll === 3) pass(600_000 - 12_000);
    });
    expect(polls).toBe(3);
  });

  it('does not wait if its documents refer to nothing', async () => {
    const { wait, asked } = given();
    expect(await wait(500, undefined, { topic: 'contacts' })).toBe(0);
    expect(asked).toEqual(['contacts']);
  });

  it('stops waiting when the worker stops', async () => {
    const { wait, stop } = given();
    expect(await wait(500, stop)).toBe(1);
  });
});

it('a partition without a backlog never waits', async () => {
  const { wait, asked } = given();
  expect(await wait(199)).toBe(0);
  expect(asked).toEqual([]);
});

describe('while a build loads, a partition', () => {
  it('waits, once it is loaded, for the records that its prerequisite topics have received since', async () => {
    const { positions, wait } = given({ 'contacts/0': { end: 1_000 } });
    positions.load(new Map(Object.entries({ 'tickets/0': 40, 'contacts/0': 1_000 })));
    await wait(500, () => positions.report('contacts/0', { position: 1_000, end: 1_500 }));
    positions.load(null);
    const polls = await wait(500, () => positions.report('contacts/0', { position: 1_500 }), {
      position: 40,
    });
    expect(polls).toBe(1);
  });

  it('waits for the load of its prerequisite topics alone, however few records it has', async () => {
    const { positions, wait } = given({ 'contacts/0': { end: 5_000 } });
    const ends = { 'tickets/0': 40, 'contacts/0': 1_000 };
    positions.load(new Map(Object.entries(ends)));
    expect(await wait(1, (poll) => positions.report('contacts/0', { position: poll * 500 }))).toBe(2);
    // and the later records of its prerequisite topics do not delay it
    expect(await wait(1)).toBe(0);
  });

  it('waits for one that is stalled or not known yet: without it the load does not end', async () => {
    const { positions, wait, pass } = given();
    positions.load(new Map(Object.entries({ 'tickets/0': 40, 'contacts/0': 1_000, 'contacts/1': 1 })));
    const applied = { 3: 'contacts/0', 4: 'contacts/1' } as Record<number, string>;
    const polls = await wait(1, (poll) => {
      pass(60_000);
      const key = applied[poll];
      if (key) positions.report(key, { position: 1_000 });
    });
    expect(polls).toBe(4);
  });

  it('stops waiting when the worker stops', async () => {
    const { positions, wait, stop } = given();
    positions.load(new Map([['contacts/0', 1_000]]));
    expect(await wait(500, stop)).toBe(1);
  });
});
