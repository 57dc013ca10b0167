import { describeGaps } from '../../../shared/control/log-gaps.ts';
import type { EpochEnd } from '../../../shared/kafka/epoch-ends.ts';
import { createGapDetector, findGap, gapConfirmationsMin } from './gap-detector.ts';

/** A partition that is fetched from offset 5 next, after a batch of leader epoch 2. */
const fetching = (partition: number) => {
  const fetchState = {
    nextOffset: 5,
    leaderEpoch: 2,
    comparedEpoch: 2,
    uncomparedEpoch: -1,
    topicId: null as string | null,
    setComparedEpoch: (epoch: number) => {
      fetchState.comparedEpoch = epoch;
    },
    setTopicId: (id: string) => {
      fetchState.topicId = id;
    },
  };
  return { topic: 't', partition, fetchState };
};

type Log = { low?: number; end?: number; topicId?: string; leaderEpoch?: number };

/** A gap detector of two partitions. Only the log of the second, t/0, depends on the test. */
function createTestDetector(epochEnds: () => Promise<EpochEnd | null> = async () => null) {
  const otherPartition = fetching(1);
  const partition = fetching(0);
  const asked: [string, number][] = [];
  const detect = createGapDetector({
    epochEnds: async (epochs) => {
      asked.push(...epochs);
      const epochEnd = await epochEnds();
      return new Map(epochEnd ? [['t/0', epochEnd]] : []);
    },
  });
  return {
    fetchState: partition.fetchState,
    asked,
    /** Calls the detector `times` times. Returns the text of the gaps of the last call; null without a gap. */
    detect: async ({ low = 0, end = 9, topicId, leaderEpoch = 2 }: Log, times = 1) => {
      const topicIds = new Map(topicId === undefined ? [] : [['t', topicId]]);
      const ends = new Map([
        ['t/0', { low, end, stable: end }],
        ['t/1', { low: 0, end: 9, stable: 9 }],
      ]);
      const leaderEpochs = new Map([
        ['t/0', leaderEpoch],
        ['t/1', 2],
      ]);
      let gaps: Awaited<ReturnType<typeof detect>> = [];
      for (let call = 0; call < times; call += 1)
        gaps = await detect([otherPartition, partition], { ends, topicIds, leaderEpochs });
      return gaps.length === 0 ? null : describeGaps(gaps);
    },
  };
}

/** One observation fewer than a gap needs. */
const tooFew = gapConfirmationsMin - 1;

describe('the gap detector', () => {
  test.each([
    ['begins after the next offset', { low: 6 }, /^t\/0: the records from offset 5 to 5 are gone/],
    ['ends before the next offset', { end: 4 }, /has read the log up to offset 4, .* from 4 on/],
  ])('reports that the log %s after five observations', async (_, log, message) => {
    const { detect } = createTestDetector();
    expect(await detect(log, tooFew)).toBeNull();
    expect(await detect(log, 1)).toMatch(message);
  });

  test('reports no gap at the beginning and at the end of the log', async () => {
    const { detect } = createTestDetector();
    expect(await detect({ low: 5, end: 5 }, gapConfirmationsMin * 2)).toBeNull();
  });

  test('reports a topic with a different id at the first observation', async () => {
    const { fetchState, detect } = createTestDetector();
    fetchState.topicId = 'first';
    expect(await detect({ topicId: 'first' })).toBeNull();
    expect(await detect({ topicId: 'second' })).toMatch(/applied records of another topic of this name/);
  });

  test('reports no gap while a topic id is unknown', async () => {
    const { fetchState, detect } = createTestDetector();
    expect(await detect({ topicId: 'first' })).toBeNull();
    fetchState.topicId = 'first';
    expect(await detect({})).toBeNull();
  });

  test('accepts a topic that was created again before its first record was read', async () => {
    const { fetchState, detect } = createTestDetector();
    Object.assign(fetchState, { topicId: 'first', nextOffset: 0, leaderEpoch: -1 });
    expect(await detect({ topicId: 'second' }, gapConfirmationsMin)).toBeNull();
    fetchState.nextOffset = 1;
    expect(await detect({ topicId: 'second' })).toBeNull();
  });

  test('forgets a gap that ends, or that an older fetch showed', async () => {
    const { fetchState, detect } = createTestDetector();
    expect(await detect({ end: 4 }, tooFew)).toBeNull();
    expect(await detect({ end: 5 })).toBeNull();
    expect(await detect({ end: 4 }, tooFew)).toBeNull();
    fetchState.nextOffset = 6;
    expect(await detect({ end: 4 })).toBeNull();
  });

  test.each([
    ['has lost records, even if it has grown again', { leaderEpoch: 2, endOffset: 3 }, /from 3 on/],
    ['lacks the applied epoch', { leaderEpoch: -1, endOffset: -1 }, /from 0 on/],
  ])('reports a gap if the log of a new leader %s', async (_, epochEnd, message) => {
    const { fetchState, asked, detect } = createTestDetector(async () => epochEnd);
    expect(await detect({ leaderEpoch: 3 }, gapConfirmationsMin)).toMatch(message);
    // The worker applies no record of the new leader before its epoch counts as compared.
    expect(fetchState.comparedEpoch).toBe(2);
    expect(asked).toHaveLength(gapConfirmationsMin);
  });

  test('asks a new leader once if its log has all applied records', async () => {
    const { fetchState, asked, detect } = createTestDetector(async () => ({ leaderEpoch: 2, endOffset: 5 }));
    expect(await detect({ leaderEpoch: 3 }, gapConfirmationsMin)).toBeNull();
    expect(fetchState.comparedEpoch).toBe(3);
    expect(asked).toHaveLength(1);
  });

  test('asks again if the answer is missing or outdated', async () => {
    const answers: (() => EpochEnd | null)[] = [
      () => null,
      () => {
        fetchState.nextOffset = 7;
        return { leaderEpoch: 2, endOffset: 6 };
      },
      () => ({ leaderEpoch: 2, endOffset: 7 }),
    ];
    const { fetchState, asked, detect } = createTestDetector(
      async () => answers[asked.length - 1]?.() ?? null,
    );
    const compared = [];
    for (let call = 0; call < answers.length; call += 1) {
      await detect({ leaderEpoch: 3 });
      compared.push(fetchState.comparedEpoch);
    }
    expect(compared).toEqual([2, 2, 3]);
  });

  test('compares the log of a waiting batch even if the brokers report no leader epochs', async () => {
    const { fetchState, asked, detect } = createTestDetector(async () => ({ leaderEpoch: 2, endOffset: 5 }));
    await detect({ leaderEpoch: -1 });
    expect({ asked: asked.length, compared: fetchState.comparedEpoch }).toEqual({ asked: 0, compared: 2 });
    fetchState.uncomparedEpoch = 4;
    await detect({ leaderEpoch: -1 }, 2);
    expect({ asked: asked.length, compared: fetchState.comparedEpoch }).toEqual({ asked: 1, compared: 4 });
  });

  test('asks only after a change of leader, once a record was read', async () => {
    const { fetchState, asked, detect } = createTestDetector();
    await detect({});
    fetchState.leaderEpoch = -1;
    await detect({ leaderEpoch: 3 });
    expect({ asked, compared: fetchState.comparedEpoch }).toEqual({ asked: [], compared: 3 });
  });
});

describe('a gap', () => {
  const read = { topic: 't', partition: 0, offset: 5, leaderEpoch: 2, topicId: 'id' };
  const log = { low: 0, end: 9, topicId: 'id', epochEnd: undefined };
  const place = { topic: 't', partition: 0, topicId: 'id' };
  test.each([
    ['is absent if the log has all records', {}, null],
    ['of deleted records ends before the log begins', { low: 7 }, { kind: 'deleted', from: 5, to: 6 }],
    ['of a shorter log begins at its end', { end: 3 }, { kind: 'diverged', from: 3, to: 4 }],
    [
      'of a diverged log begins at the end of the epoch',
      { epochEnd: { leaderEpoch: 1, endOffset: 2 } },
      { kind: 'diverged', from: 2, to: 4 },
    ],
    [
      'never begins before the log',
      { low: 4, epochEnd: { leaderEpoch: 1, endOffset: 2 } },
      { kind: 'diverged', from: 4, to: 4 },
    ],
    [
      'of a topic with a different id contains every record that was read',
      { topicId: 'new' },
      { kind: 'replaced', from: 0, to: 4 },
    ],
  ])('%s', (_, changes, expected) => {
    const gap = findGap(read, { ...log, ...changes });
    expect(gap).toEqual(expected && { ...place, ...('topicId' in changes ? changes : {}), ...expected });
  });
});
