import { before, facts, own } from '../../../tests/support/facts.ts';
import { findings } from '../findings.ts';

const found = (secondsAgo: number, lastSecondsAgo = 0) => {
  const sweepFailure = { since: before(secondsAgo), at: before(lastSecondsAgo), reason: 'not authorized' };
  return findings(facts([own(1, 'active', { sweepFailure })])).map(({ text }) => text);
};

test('a sweep that fails again and again is told with its reason, and a single failure is not', () => {
  expect(found(600)).toEqual([]);
  expect(found(601)).toEqual([
    expect.stringMatching(
      /^data past its retention stays in MongoDB, because every sweep since 2026.*: not authorized/,
    ),
  ]);
});

test('the time in which no projector has swept does not count', () => {
  expect(found(3_600, 3_000)).toEqual([]);
  expect(found(3_601, 3_000)).toHaveLength(1);
});
