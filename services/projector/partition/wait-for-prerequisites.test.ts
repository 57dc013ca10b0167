import { createPositions } from './positions.ts';
import { createWaitForPrerequisites } from './wait-for-prerequisites.ts';

/**
 * Positions, by default of `contacts`, to which the documents of `tickets` refer. The clock only moves when the test
 * calls `pass`.
 */
function createTestPositions(
  partitions: Record<string, { position?: number; end?: number }> = { 'contacts/0': { end: 1_000 } },
) {
  let nowMs = 1_000;
  const positions = createPositions(() => nowMs);
  for (const [key, known] of Object.entries(partitions)) positions.observe(key, known);
  const asked: string[] = [];
  const waitForPrerequisites = createWaitForPrerequisites(positions, (topic) => {
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
    const next = { topic, partition: 0, position, end: () => position + lag };
    await waitForPrerequisites(next, stopping.signal, onWait);
    return polls;
  };
  return {
    positions,
    asked,
    wait,
    pass: (ms: number) => {
      nowMs += ms;
    },
    stop: () => stopping.abort(),
  };
}

describe('a partition with a backlog', () => {
  test('waits until its prerequisite topics have been applied', async () => {
    const { positions, wait } = createTestPositions();
    const polls = await wait(200, (poll) => positions.observe('contacts/0', { position: poll * 400 }));
    expect(polls).toBe(3);
  });

  test('waits for the records that existed when the wait began, not for later ones', async () => {
    const { positions, wait } = createTestPositions({ 'contacts/0': { end: 1_000 } });
    await wait(500, (poll) =>
      positions.observe('contacts/0', { position: poll * 500, end: 1_000 + poll * 500 }),
    );
    // The next batches do not wait for later records.
    expect(await wait(300)).toBe(0);
  });

  test('waits again after it had caught up', async () => {
    const { positions, wait } = createTestPositions({ 'contacts/0': { position: 1_000, end: 1_000 } });
    expect(await wait(500)).toBe(0);
    positions.observe('contacts/0', { end: 2_000 });
    expect(await wait(500)).toBe(0);
    expect(await wait(199)).toBe(0);
    expect(await wait(500, () => positions.observe('contacts/0', { position: 2_000 }))).toBe(1);
  });

  test('waits five seconds for a partition that does not move after its first new record', async () => {
    // The prerequisite partition has been caught up for long.
    const { positions, wait, pass } = createTestPositions({ 'contacts/0': { position: 2, end: 2 } });
    pass(50_000);
    positions.observe('contacts/0', { end: 1_000 });
    const polls = await wait(500, (poll) => {
      pass(2_500);
      positions.observe('contacts/0', { position: 2, end: 1_000 + poll });
    });
    expect(polls).toBe(2);
  });

  test('waits for a moving prerequisite partition beside a stalled one', async () => {
    const { positions, wait, pass } = createTestPositions({
      'contacts/0': { end: 8 },
      'contacts/1': { end: 8 },
      'contacts.more/0': { end: 8 },
    });
    const polls = await wait(500, (poll) => {
      pass(2_500);
      positions.observe('contacts/1', { position: poll * 2 });
      positions.observe('contacts.more/0', { position: poll });
    });
    expect(polls).toBe(4);
  });

  test('ignores positions and ends that are reported late', async () => {
    const { positions, wait } = createTestPositions();
    for (const late of [{ position: 5 }, { position: 2 }, { end: 3 }]) positions.observe('contacts/0', late);
    expect([4, 5].map((offset) => positions.isApplied('contacts/0', offset))).toEqual([true, false]);
    expect(await wait(500, () => positions.observe('contacts/0', { position: 1_000 }))).toBe(1);
  });

  test('waits for at most ten minutes', async () => {
    const { positions, wait, pass } = createTestPositions();
    const polls = await wait(500, (poll) => {
      positions.observe('contacts/0', { position: poll });
      pass(4_000);
      if (poll === 3) pass(600_000 - 12_000);
    });
    expect(polls).toBe(3);
  });

  test('does not wait if its documents refer to nothing', async () => {
    const { wait, asked } = createTestPositions();
    expect(await wait(500, undefined, { topic: 'contacts' })).toBe(0);
    expect(asked).toEqual(['contacts']);
  });

  test('stops waiting when the worker stops', async () => {
    const { wait, stop } = createTestPositions();
    expect(await wait(500, stop)).toBe(1);
  });
});

test('a partition without a backlog never waits', async () => {
  const { wait, asked } = createTestPositions();
  expect(await wait(199)).toBe(0);
  expect(asked).toEqual([]);
});

describe('while a build loads, a partition', () => {
  test('waits after the load for the records that its prerequisite topics have received since', async () => {
    const { positions, wait } = createTestPositions({ 'contacts/0': { end: 1_000 } });
    positions.setLoadEnds(new Map(Object.entries({ 'tickets/0': 40, 'contacts/0': 1_000 })));
    await wait(500, () => positions.observe('contacts/0', { position: 1_000, end: 1_500 }));
    positions.setLoadEnds(null);
    const polls = await wait(500, () => positions.observe('contacts/0', { position: 1_500 }), {
      position: 40,
    });
    expect(polls).toBe(1);
  });

  test('waits for the load of its prerequisite topics even without a backlog', async () => {
    const { positions, wait } = createTestPositions({ 'contacts/0': { end: 5_000 } });
    const ends = { 'tickets/0': 40, 'contacts/0': 1_000 };
    positions.setLoadEnds(new Map(Object.entries(ends)));
    expect(await wait(1, (poll) => positions.observe('contacts/0', { position: poll * 500 }))).toBe(2);
    // Records after the load of the prerequisite topics cause no wait.
    expect(await wait(1)).toBe(0);
  });

  test('waits even for stalled and unknown prerequisite partitions', async () => {
    const { positions, wait, pass } = createTestPositions();
    positions.setLoadEnds(new Map(Object.entries({ 'tickets/0': 40, 'contacts/0': 1_000, 'contacts/1': 1 })));
    const applied = { 3: 'contacts/0', 4: 'contacts/1' } as Record<number, string>;
    const polls = await wait(1, (poll) => {
      pass(60_000);
      const key = applied[poll];
      if (key) positions.observe(key, { position: 1_000 });
    });
    expect(polls).toBe(4);
  });
});
