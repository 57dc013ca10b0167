import { isWithinShare } from './fair-share.ts';

/** Whether a key may use `more` of a limit of 100, at this use by all, by its organization and by itself. */
const mayUse = (all: number, org: number, key: number, more: number) =>
  isWithinShare(100, more, { all, org, key });

it.each([
  ['has a quarter', 49, 24, 0, 1, true],
  ['has no more than a quarter', 49, 25, 0, 1, false],
  ['has a quarter of the rest once half is in use', 60, 9, 0, 1, true],
  ['has no more than a quarter of the rest', 60, 10, 0, 1, false],
  ['may exceed its share by a large read', 49, 24, 0, 50, true],
  ['may not exceed it once half is in use', 60, 9, 0, 2, false],
  ['may always start', 99, 0, 0, 50, true],
])('an organization %s', (_, all, org, key, more, expected) => {
  expect(mayUse(all, org, key, more)).toBe(expected);
});

it.each([
  ['has half of the share of its organization', 40, 12, 12, 1, true],
  ['has no more, so that the other keys have capacity', 40, 13, 13, 1, false],
  ['has half of the smaller share once half is in use', 60, 4, 4, 1, true],
  ['has no more of the smaller share', 60, 5, 5, 1, false],
])('a key %s', (_, all, org, key, more, expected) => {
  expect(mayUse(all, org, key, more)).toBe(expected);
});
