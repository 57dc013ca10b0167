import { createGapDetector, gapConfirmationsMin } from './gap-detector.ts';

/** A worker that fetches from offset 5 next. */
const startWorker = (partition: number) => ({
  topic: 't',
  partition,
  position: 5,
  nextFetchOffset: 5,
  topicId: null as string | null,
});

/** A worker after one without a gap, and a gap detector for its log. */
function given() {
  const [other, worker] = [startWorker(1), startWorker(0)];
  const detectGap = createGapDetector();
  return {
    worker,
    detect: (low: number, end: number, topicId?: string) => {
      const topicIds = new Map(topicId === undefined ? [] : [['t', topicId]]);
      const ends = new Map([
        ['t/0', { low, end, stable: end }],
        ['t/1', { low: 0, end: 9, stable: 9 }],
      ]);
      return detectGap([other, worker], { ends, topicIds });
    },
  };
}

/** The result of the last of several calls. */
const last = (detect: () => Error | null, times: number) =>
  Array.from({ length: times }, detect).at(-1)?.message ?? null;

describe('the gap detector', () => {
  it.each([
    ['the log starts after the next offset', 6, 9, /^t\/0: the records from offset 5 to 5 are gone/],
    ['the log ends before the next offset', 0, 4, /applied the log up to 5, but it ends at 4/],
  ])('reports that %s once it has seen that five times', (_, low, end, message) => {
    const { detect } = given();
    expect(last(() => detect(low, end), gapConfirmationsMin - 1)).toBeNull();
    expect(last(() => detect(low, end), 1)).toMatch(message);
  });

  it('reports no gap if the next record is the first of the log, or not published yet', () => {
    const { detect } = given();
    expect(last(() => detect(5, 5), gapConfirmationsMin * 2)).toBeNull();
  });

  it('reports a topic with another id at once, although its log is long enough', () => {
    const { worker, detect } = given();
    worker.topicId = 'first';
    expect(detect(0, 9, 'first')).toBeNull();
    expect(detect(0, 9, 'second')?.message).toMatch(/applied the log up to 5, but of another topic/);
  });

  it('reports no gap if the brokers report no topic id, or reported none at the start', () => {
    const { worker, detect } = given();
    expect(detect(0, 9, 'first')).toBeNull();
    worker.topicId = 'first';
    expect(detect(0, 9)).toBeNull();
  });

  it('forgets a gap that was seen only briefly, or before more records were fetched', () => {
    const { worker, detect } = given();
    expect(last(() => detect(0, 4), gapConfirmationsMin - 1)).toBeNull();
    expect(detect(0, 5)).toBeNull();
    expect(last(() => detect(0, 4), gapConfirmationsMin - 1)).toBeNull();
    worker.nextFetchOffset = 6;
    expect(detect(0, 4)).toBeNull();
  });
});
