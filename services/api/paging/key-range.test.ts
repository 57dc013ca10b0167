import { keyRange } from './key-range.ts';

const none = { from: null, until: null };
const both = { from: 'b', until: 'y' };

describe('the range of a page', () => {
  test.each([
    {
      name: 'without bounds leaves out documents without a key',
      dateRange: none,
      after: null,
      direction: 'ascending',
      expected: { $gt: '' },
    },
    {
      name: 'continues above a cursor',
      dateRange: none,
      after: 'm',
      direction: 'ascending',
      expected: { $gt: 'm' },
    },
    {
      name: 'continues below a cursor',
      dateRange: none,
      after: 'm',
      direction: 'descending',
      expected: { $gt: '', $lt: 'm' },
    },
    {
      name: 'equals the bounds',
      dateRange: both,
      after: null,
      direction: 'ascending',
      expected: { $gte: 'b', $lt: 'y' },
    },
    {
      name: 'is narrowed from below by a cursor',
      dateRange: both,
      after: 'm',
      direction: 'ascending',
      expected: { $gt: 'm', $lt: 'y' },
    },
    {
      name: 'is narrowed from above by a cursor',
      dateRange: both,
      after: 'm',
      direction: 'descending',
      expected: { $gte: 'b', $lt: 'm' },
    },
    {
      name: 'is not widened from below by a forged cursor',
      dateRange: both,
      after: 'a',
      direction: 'ascending',
      expected: { $gte: 'b', $lt: 'y' },
    },
    {
      name: 'is not widened from above by a forged cursor',
      dateRange: both,
      after: 'z',
      direction: 'descending',
      expected: { $gte: 'b', $lt: 'y' },
    },
  ] as const)('$name', ({ dateRange, after, direction, expected }) => {
    expect(keyRange(dateRange, { after, direction })).toEqual(expected);
  });
});
