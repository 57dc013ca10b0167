import { pino } from 'pino';
import { createPartition } from './partition-worker.ts';
import { createGapDetector, gapSightings } from './start-offsets.ts';

function given(expected: number) {
  const partition = createPartition({
    topic: 't',
    partition: 0,
    apply: async () => ({ events: 0, rejected: 0, times: [], appliedToMs: null }),
    prerequisites: { wait: async () => undefined },
    onApplied: () => undefined,
    logger: pino({ level: 'silent' }),
    retryDelayMs: 1,
  });
  partition.start(expected);
  const watch = createGapDetector();
  return {
    partition,
    look: (low: number, end: number, topicId?: string) => {
      const topicIds = new Map(topicId === undefined ? [] : [['t', topicId]]);
      return watch([partition], { ends: new Map([['t/0', { low, end }]]), topicIds });
    },
  };
}

/** What the last of so many looks at the same ends finds. */
const last = (look: () => Error | null, times: number) =>
  Array.from({ length: times }, look).at(-1)?.message ?? null;

describe('the watch for gaps', () => {
  it.each([
    ['the log begins behind it', 6, 9, /the records from offset 5 to 5 are gone/],
    ['the log ends before it', 0, 4, /applied the log up to 5, but it ends at 4/],
  ])('finds that %s, once it stays so', (_, low, end, message) => {
    const { look } = given(5);
    expect(last(() => look(low, end), gapSightings - 1)).toBeNull();
    expect(last(() => look(low, end), 1)).toMatch(message);
  });

  it('finds none where the next record is the first, or still to come', () => {
    const { look } = given(5);
    expect(last(() => look(5, 5), gapSightings * 2)).toBeNull();
  });

  it('finds another topic of the name at once, though its log reaches as far', () => {
    const { partition, look } = given(5);
    partition.topicId = 'first';
    expect(look(0, 9, 'first')).toBeNull();
    expect(look(0, 9, 'second')?.message).toMatch(/applied the log up to 5, but of another topic/);
  });

  it('finds none where the brokers tell no id, or told none before', () => {
    const { partition, look } = given(5);
    expect(look(0, 9, 'first')).toBeNull();
    partition.topicId = 'first';
    expect(look(0, 9)).toBeNull();
  });

  it('forgets what was so for a moment, or while records came', () => {
    const { partition, look } = given(5);
    expect(last(() => look(0, 4), gapSightings - 1)).toBeNull();
    expect(look(0, 5)).toBeNull();
    expect(last(() => look(0, 4), gapSightings - 1)).toBeNull();
    partition.expected = 6;
    expect(look(0, 4)).toBeNull();
  });
});
