import { idle } from '../../../tests/support/idle.ts';
import { startAt } from '../../../tests/support/start-partition.ts';
import { createTestAssignment, type Fetched } from '../../../tests/support/test-assignment.ts';
import { createGapDetector, gapConfirmationsMin } from './gap-detector.ts';

describe('a fetched batch', () => {
  test.each<{ name: string; startOffset: number | null; batch: Fetched; expected: object }>([
    {
      name: 'is dropped before its partition has a start offset',
      startOffset: null,
      batch: { from: 0, offsets: [0, 1], to: 1 },
      expected: { position: null },
    },
    {
      name: 'is applied if it was fetched from the next offset',
      startOffset: 5,
      batch: { from: 5, offsets: [5, 7], to: 8 },
      expected: { applied: [5, 7], resolved: ['8'], position: 9 },
    },
    {
      name: 'advances the position even if it has only control records',
      startOffset: 5,
      batch: { from: 5, offsets: [], to: 6 },
      expected: { resolved: ['6'], position: 7 },
    },
    {
      name: 'is dropped if a seek has happened since',
      startOffset: 5,
      batch: { from: 5, offsets: [5], to: 5, isStale: true },
      expected: { position: 5 },
    },
  ])('$name', async ({ startOffset, batch, expected }) => {
    const { assign, start, applied, seeks, resolved, deliver, fetchedRecords } = createTestAssignment();
    const partition = assign();
    if (startOffset !== null) start(partition, startOffset);
    deliver(batch);
    await idle();
    const nothingHappens = { applied: [], seeks: [], resolved: [] };
    expect({ applied, seeks, resolved, position: partition.position }).toEqual({
      ...nothingHappens,
      ...expected,
    });
    expect(fetchedRecords()).toBe(applied.length);
  });

  test.each([
    { name: 'before', from: 0, offsets: [0, 1], to: 1 },
    { name: 'after', from: 9, offsets: [9], to: 9 },
    { name: 'after, with control records only,', from: 9, offsets: [], to: 9 },
  ])(
    'fetched from $name the next offset is not applied, and the next offset is fetched again',
    async ({ from, offsets, to }) => {
      const { assign, start, applied, seeks, resolved, deliver } = createTestAssignment();
      const partition = assign();
      start(partition, 5);
      deliver({ from, offsets, to });
      await idle();
      expect({ applied, seeks, resolved, position: partition.position }).toEqual({
        applied: [],
        seeks: ['5'],
        resolved: [],
        position: 5,
      });
    },
  );

  test('is applied up to the load end, and fetched again from there after the load', async () => {
    const { positions, assign, start, paused, applied, resolved, deliver } = createTestAssignment();
    positions.setLoadEnds(new Map([['t/0', 2]]));
    const partition = assign();
    start(partition);
    expect([...paused]).toEqual([]);
    deliver({ from: 0, offsets: [0, 1, 4, 5], to: 6 });
    const position = () => partition.position;
    while (position() !== 4) await idle();
    expect({ applied, resolved, paused: [...paused] }).toEqual({
      applied: [0, 1],
      resolved: ['3'],
      paused: ['t/0'],
    });
    // The fetch in progress may bring a batch that begins before the next offset, which does not move back.
    positions.setLoadEnds(new Map([['t/0', 3]]));
    deliver({ from: 4, offsets: [3], to: 3 });
    expect(partition.fetchState.nextOffset).toBe(4);
    positions.setLoadEnds(null);
    expect([...paused]).toEqual([]);
    deliver({ from: 4, offsets: [4, 5], to: 6 });
    while (position() !== 7) await idle();
    expect(applied).toEqual([0, 1, 4, 5]);
  });
});

describe('a batch of a new leader', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate'] }));
  afterEach(() => jest.useRealTimers());

  /** A partition that has read offsets 0 to 4 of the leader of epoch 2. The leader of epoch 3 has the log up to 9. */
  function givenElection(oldEpochEnd: number) {
    const { assignment, assign, applied, resolved, paused, deliver } = createTestAssignment();
    const partition = assign();
    partition.start({ ...startAt(5), leaderEpoch: 2, comparedEpoch: 2 }, 5);
    assignment.updateFetching(partition);
    // The epoch 2 ends where the new leader's records begin, and its own epoch where its log ends.
    const ends = new Map([
      [2, oldEpochEnd],
      [3, 9],
    ]);
    const detectGaps = createGapDetector({
      epochEnds: async (epochs) =>
        new Map(
          [...epochs].map(([key, epoch]) => [key, { leaderEpoch: epoch, endOffset: ends.get(epoch) ?? -1 }]),
        ),
    });
    return {
      applied,
      resolved,
      /** The new leader's records from offset 5 on are fetched, if the partition is not paused. */
      fetch: async () => {
        jest.advanceTimersByTime(1_000);
        if (!paused.has('t/0')) deliver({ from: 5, offsets: [5, 6, 7, 8], to: 8, leaderEpoch: 3 });
        await idle();
      },
      compare: () =>
        detectGaps(assignment.partitions(), {
          ends: new Map([['t/0', { low: 0, end: 9, stable: 9 }]]),
          topicIds: new Map(),
          leaderEpochs: new Map([['t/0', 3]]),
        }),
    };
  }

  test('is fetched again until the log of the leader is compared', async () => {
    const { applied, resolved, fetch, compare } = givenElection(5);
    await fetch();
    await fetch();
    expect({ applied, resolved }).toEqual({ applied: [], resolved: [] });
    expect(await compare()).toEqual([]);
    await fetch();
    expect({ applied, resolved }).toEqual({ applied: [5, 6, 7, 8], resolved: ['8'] });
  });

  test('is never queued if the leader has lost applied records', async () => {
    const { applied, resolved, fetch, compare } = givenElection(3);
    let gaps: object[] = [];
    for (let reading = 0; reading < gapConfirmationsMin; reading += 1) {
      await fetch();
      gaps = await compare();
    }
    expect(gaps).toMatchObject([{ kind: 'diverged', from: 3, to: 4 }]);
    expect({ applied, resolved }).toEqual({ applied: [], resolved: [] });
  });
});

describe('a partition that its broker cannot read', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('the partition is fetched again from the same offset once a second', () => {
    const { assign, start, paused, logged, resolved, seeks, deliver, deliverError } = createTestAssignment();
    const partition = assign();
    start(partition);
    const cause = () => partition.snapshot().cause;
    const counts: number[] = [];
    for (let fetch = 0; fetch < 3; fetch += 1) {
      expect([...paused]).toEqual([]);
      deliverError(0, 56);
      counts.push(partition.snapshot().progressCount);
      expect({ paused: [...paused], cause: cause() }).toEqual({ paused: ['t/0'], cause: 'unreadable' });
      jest.advanceTimersByTime(1_000);
    }
    expect({ next: partition.fetchState.nextOffset, resolved, seeks }).toEqual({
      next: 0,
      resolved: [],
      seeks: [],
    });
    // Each wait counts as progress, because a restart would not help.
    expect(counts).toEqual([1, 2, 3]);
    deliverError(0, 2);
    expect(logged).toEqual([
      expect.stringContaining('KAFKA_STORAGE_ERROR'),
      expect.stringContaining('CORRUPT_MESSAGE'),
    ]);
    deliver({ from: 0, offsets: [0], to: 0 });
    expect(cause()).toBe('backlog');
  });

  test('the partition stays paused after a new assignment or a stop', async () => {
    const { assignment, assign, start, paused, deliverError } = createTestAssignment();
    start(assign());
    deliverError(0, -1);
    const next = assign();
    jest.advanceTimersByTime(1_000);
    expect([...paused]).toEqual(['t/0']);
    start(next);
    deliverError(0, -1);
    await assignment.stop(0);
    jest.advanceTimersByTime(1_000);
    expect([...paused]).toEqual(['t/0']);
  });
});
