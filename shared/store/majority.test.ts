import { Timestamp } from 'mongodb';
import { noMajoritySince } from './majority.ts';

const localTime = new Date('2026-11-24T12:00:00Z');
const opTime = (t: number) => ({ ts: new Timestamp({ t, i: 1 }), t: 1 });
/** The answer of a primary whose last confirmed write is as old as that, and is its last write or not. */
const answer = (ageSeconds: number, isLast: boolean) => {
  const majorityWriteDate = new Date(localTime.getTime() - ageSeconds * 1_000);
  return {
    localTime,
    lastWrite: { opTime: opTime(isLast ? 1 : 2), majorityOpTime: opTime(1), majorityWriteDate },
  };
};

test.each<[string, Parameters<typeof noMajoritySince>[0], string | null]>([
  ['a single server', { localTime }, null],
  ['mongos', { localTime, lastWrite: {} }, null],
  ['a replica set that has confirmed its last write, however long ago', answer(600, true), null],
  ['a replica set whose last write is new', answer(12, false), null],
  ['a replica set that has confirmed nothing for longer', answer(21, false), '2026-11-24T11:59:39.000Z'],
])('%s has no majority since: %s', (_, given, since) => {
  expect(noMajoritySince(given)?.toISOString() ?? null).toBe(since);
});
