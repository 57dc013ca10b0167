import { BSON } from 'mongodb';
import {
  carryOver,
  closeRecords,
  emptySpan,
  type InLog,
  isEmptySpan,
  markLost,
  offsetsPerSpan,
  type OpenSpan,
  openSpan,
  otherDetails,
  packSpan,
  parseRecordId,
  purgeRecords,
  recordId,
  type Reject,
  rejectRecords,
  removeGenerationFromSkips,
  skipOffset,
  spanIdOf,
} from './ledger.ts';

const topic = 'support.tags';
const at = (seconds: number) => new Date(1_700_000_000_000 + seconds * 1_000);
/** The time of a record, unless a test sets another time. */
const baseMs = 1_600_000_000_000;
const reject = (offset: number, more: Partial<Reject> = {}): Reject => ({
  offset,
  timestampMs: baseMs,
  reason: 'not_json',
  detail: 'value: must be JSON',
  ...more,
});
const idOf = ({ offset, timestampMs }: Reject) => recordId({ topic, partition: 0, offset, timestampMs });

function spanWith(...rejects: Reject[]): OpenSpan {
  const span = openSpan(emptySpan(spanIdOf({ topic, partition: 0, offset: 0 })));
  rejectRecords(span, rejects, { generation: 1, now: at(0) });
  return span;
}

/** The span as another process reads it: packed, written and read again. */
function stored(span: OpenSpan): OpenSpan {
  const bytes = BSON.serialize(packSpan(span));
  return openSpan(BSON.deserialize(bytes, { promoteBuffers: false }) as never);
}

/** Each record's offset, its time after the base time, and the operator of its purge or its generations. */
function fates(span: OpenSpan): [offset: number, afterMs: number, fate: string | number[]][] {
  const records = [...span.records.values()];
  return records.map(({ offset, timestampMs, generations, purged }) => {
    const afterMs = timestampMs - baseMs;
    return [offset, afterMs, purged?.by ?? generations];
  });
}

test('a span keeps each record with its times, its count and its generations', () => {
  const span = spanWith(reject(4_999), reject(7, { reason: 'bad_data', detail: 'data.name: is missing' }));
  rejectRecords(span, [reject(7)], { generation: 2, now: at(5) });
  const [first, last] = [...stored(span).records.values()].toSorted((a, b) => a.offset - b.offset);
  expect(first).toEqual({
    topic,
    partition: 0,
    offset: 7,
    timestampMs: baseMs,
    reason: 'not_json',
    detail: 'value: must be JSON',
    generations: [1, 2],
    isLost: false,
    purged: null,
    firstAt: at(0),
    lastAt: at(5),
    count: 2,
  });
  expect(last).toMatchObject({ offset: 4_999, generations: [1], count: 1 });
  expect(packSpan(span).lastAt).toEqual(at(5));
});

test.each([-1, 0, -(2 ** 63), 2 ** 63])(
  'a record with the timestamp %d is found by its id again',
  (timestampMs) => {
    const key = { topic, partition: 3, offset: 12_345, timestampMs };
    expect(parseRecordId(recordId(key))).toEqual(key);
    expect([...stored(spanWith(reject(1, { timestampMs }))).records.values()]).toMatchObject([
      { timestampMs },
    ]);
  },
);

test('a span of records that share nothing has less than 300 kB, even with long details', () => {
  const rejects = Array.from({ length: offsetsPerSpan }, (_, offset) =>
    reject(offset, { detail: `detail ${offset}`.padEnd(100) }),
  );
  const packed = packSpan(spanWith(...rejects));
  expect(BSON.calculateObjectSize(packed)).toBeLessThan(300_000);
  expect(packed.groups.reduce((sum, { count }) => sum + count, 0)).toBe(offsetsPerSpan);
  expect(packed.groups.at(-1)).toMatchObject({ detail: otherDetails });
});

test('a purge of a record covers neither the records beside it, nor later ones at its offset', () => {
  const purged = reject(7);
  const beside = reject(8);
  const span = spanWith(purged, beside);
  expect(purgeRecords(span, new Set([idOf(purged)]), { by: 'ann', at: at(1) })).toBe(1);
  // when both are read again, by another generation too, and the topic was created again
  const later = reject(7, { timestampMs: baseMs + 1 });
  for (const generation of [1, 2]) rejectRecords(span, [purged, beside, later], { generation, now: at(2) });
  const all = [
    [7, 0, 'ann'],
    [7, 1, [1, 2]],
    [8, 0, [1, 2]],
  ];
  expect(fates(stored(span)).toSorted()).toEqual(all.toSorted());
  // and a purge of the later one leaves the earlier one purged by its operator
  purgeRecords(span, new Set([idOf(later)]), { by: 'bob', at: at(3) });
  expect(fates(stored(span)).toSorted()).toEqual([all[0], [7, 1, 'bob'], all[2]].toSorted());
  expect(purgeRecords(span, new Set([idOf(purged)]), { by: 'eve', at: at(4) })).toBe(0);
});

test('a purged record has no detail, and a span of it counts as one without a rejection', () => {
  const span = spanWith(reject(7));
  purgeRecords(span, new Set([idOf(reject(7))]), { by: 'ann', at: at(1) });
  expect(packSpan(span)).toMatchObject({ groups: [{ detail: '', generations: [] }], lastAt: new Date(0) });
});

test('a record leaves the span once no generation lacks it, and may come again', () => {
  const span = spanWith(reject(7), reject(8));
  rejectRecords(span, [reject(7)], { generation: 2, now: at(1) });
  expect(closeRecords(span, 1, ({ offset }) => offset === 7)).toEqual([]);
  expect(closeRecords(span, 2, ({ offset }) => offset === 7)).toEqual([idOf(reject(7))]);
  expect(fates(stored(span))).toEqual([[8, 0, [1]]]);
  rejectRecords(span, [reject(7)], { generation: 3, now: at(2) });
  expect(fates(stored(span))).toContainEqual([7, 0, [3]]);
});

test('a redrive that fails opens no record that another operator has closed', () => {
  const span = spanWith(reject(7));
  rejectRecords(span, [reject(7), reject(8)], { generation: 1, now: at(1), onlyIfLacking: [1] });
  rejectRecords(span, [reject(7)], { generation: 2, now: at(1), onlyIfLacking: [2] });
  expect(fates(span)).toEqual([[7, 0, [1]]]);
  expect([...span.records.values()]).toMatchObject([{ count: 2, lastAt: at(1) }]);
  rejectRecords(span, [reject(7), reject(8)], { generation: 3, now: at(2), onlyIfLacking: [1, 2] });
  expect(fates(span)).toEqual([[7, 0, [1, 3]]]);
});

test('a promotion keeps a record open for the new generation unless that one reads it; a lost one stays lost', () => {
  const span = spanWith(reject(6), reject(7), reject(8), reject(9));
  markLost(span, 1, 9);
  markLost(span, 2, 0);
  const logs: Record<number, InLog> = { 6: 'unknown', 7: 'lost' };
  carryOver(span, { from: 1, to: 2 }, ({ offset }) => logs[offset] ?? 'present');
  carryOver(span, { from: 3, to: 4 }, () => 'lost');
  carryOver(span, { from: 2, to: 5 }, () => 'present');
  expect(fates(stored(span)).toSorted()).toEqual([
    [6, 0, [1, 2]],
    [7, 0, [1, 2, 5]],
    [8, 0, [1]],
    [9, 0, [1, 2, 5]],
  ]);
});

test('a skip keeps its first operator, and goes with its last generation', () => {
  const span = spanWith();
  const skip = { offset: 7, at: at(1), why: 'broken' };
  skipOffset(span, { ...skip, generations: [1], by: 'ann' });
  skipOffset(span, { ...skip, generations: [2], by: 'bob', why: 'again' });
  expect(stored(span).skips).toEqual([{ ...skip, generations: [1, 2], by: 'ann' }]);
  removeGenerationFromSkips(span, 1);
  expect(span.skips).toMatchObject([{ generations: [2] }]);
  removeGenerationFromSkips(span, 2);
  expect(isEmptySpan(packSpan(span))).toBe(true);
});
