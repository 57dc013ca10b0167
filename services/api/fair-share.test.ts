import { isWithinShare } from './fair-share.ts';

const limit = 100;

test.each([
  { name: 'has a quarter', used: { all: 49, org: 24, key: 0 }, more: 1, mayUse: true },
  { name: 'has no more than a quarter', used: { all: 49, org: 25, key: 0 }, more: 1, mayUse: false },
  {
    name: 'has a quarter of the rest once half is in use',
    used: { all: 60, org: 9, key: 0 },
    more: 1,
    mayUse: true,
  },
  {
    name: 'has no more than a quarter of the rest',
    used: { all: 60, org: 10, key: 0 },
    more: 1,
    mayUse: false,
  },
  {
    name: 'may exceed its share by a large read',
    used: { all: 49, org: 24, key: 0 },
    more: 50,
    mayUse: true,
  },
  {
    name: 'may not exceed its share once half is in use',
    used: { all: 60, org: 9, key: 0 },
    more: 2,
    mayUse: false,
  },
  { name: 'may always start', used: { all: 99, org: 0, key: 0 }, more: 50, mayUse: true },
])('an organization $name', ({ used, more, mayUse }) => {
  expect(isWithinShare(limit, more, used)).toBe(mayUse);
});

test.each([
  { name: 'has half of the share of its organization', used: { all: 40, org: 12, key: 12 }, mayUse: true },
  {
    name: 'has no more, so that the other keys have capacity',
    used: { all: 40, org: 13, key: 13 },
    mayUse: false,
  },
  {
    name: 'has half of the smaller share once half is in use',
    used: { all: 60, org: 4, key: 4 },
    mayUse: true,
  },
  { name: 'has no more of the smaller share', used: { all: 60, org: 5, key: 5 }, mayUse: false },
])('a key $name', ({ used, mayUse }) => {
  expect(isWithinShare(limit, 1, used)).toBe(mayUse);
});
