import { isWithinShare } from './fair-share.ts';

const limit = 100;

test.each([
  { name: 'has a quarter', used: { byAll: 49, byOrganization: 24, byKey: 0 }, more: 1, mayUse: true },
  {
    name: 'has no more than a quarter',
    used: { byAll: 49, byOrganization: 25, byKey: 0 },
    more: 1,
    mayUse: false,
  },
  {
    name: 'has a quarter of the rest once half is in use',
    used: { byAll: 60, byOrganization: 9, byKey: 0 },
    more: 1,
    mayUse: true,
  },
  {
    name: 'has no more than a quarter of the rest',
    used: { byAll: 60, byOrganization: 10, byKey: 0 },
    more: 1,
    mayUse: false,
  },
  {
    name: 'may exceed its share by a large read',
    used: { byAll: 49, byOrganization: 24, byKey: 0 },
    more: 50,
    mayUse: true,
  },
  {
    name: 'may not exceed its share once half is in use',
    used: { byAll: 60, byOrganization: 9, byKey: 0 },
    more: 2,
    mayUse: false,
  },
  { name: 'may always start', used: { byAll: 99, byOrganization: 0, byKey: 0 }, more: 50, mayUse: true },
])('an organization $name', ({ used, more, mayUse }) => {
  expect(isWithinShare(limit, more, used)).toBe(mayUse);
});

test.each([
  {
    name: 'has half of the share of its organization',
    used: { byAll: 40, byOrganization: 12, byKey: 12 },
    mayUse: true,
  },
  {
    name: 'has no more, so that the other keys have capacity',
    used: { byAll: 40, byOrganization: 13, byKey: 13 },
    mayUse: false,
  },
  {
    name: 'has half of the smaller share once half is in use',
    used: { byAll: 60, byOrganization: 4, byKey: 4 },
    mayUse: true,
  },
  {
    name: 'has no more of the smaller share',
    used: { byAll: 60, byOrganization: 5, byKey: 5 },
    mayUse: false,
  },
])('a key $name', ({ used, mayUse }) => {
  expect(isWithinShare(limit, 1, used)).toBe(mayUse);
});
