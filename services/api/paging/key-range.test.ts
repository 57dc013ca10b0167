import { keyRange, rangeAfter, rangeUpTo } from './key-range.ts';

const none = { from: null, until: null };
const both = { from: 'b', until: 'y' };

describe('the range of a page', () => {
  it.each([
    ['without bounds leaves out documents without a key', none, null, 'ascending', { $gt: '' }],
    ['continues above a cursor', none, 'm', 'ascending', { $gt: 'm' }],
    ['continues below a cursor', none, 'm', 'descending', { $gt: '', $lt: 'm' }],
    ['equals the bounds', both, null, 'ascending', { $gte: 'b', $lt: 'y' }],
    ['is narrowed from below by a cursor', both, 'm', 'ascending', { $gt: 'm', $lt: 'y' }],
    ['is narrowed from above by a cursor', both, 'm', 'descending', { $gte: 'b', $lt: 'm' }],
    ['is not widened from below by a forged cursor', both, 'a', 'ascending', { $gte: 'b', $lt: 'y' }],
    ['is not widened from above by a forged cursor', both, 'z', 'descending', { $gte: 'b', $lt: 'y' }],
  ] as const)('%s', (_, dateRange, after, direction, expected) => {
    expect(keyRange(dateRange, { after, direction })).toEqual(expected);
  });
});

describe('the part of a range', () => {
  const [closed, open] = [{ $gte: 'b', $lt: 'y' }, { $gt: '' }];
  it.each([
    ['after a key', rangeAfter, closed, 'ascending', { $gt: 'm', $lt: 'y' }],
    ['after a key', rangeAfter, closed, 'descending', { $gte: 'b', $lt: 'm' }],
    ['after a key', rangeAfter, open, 'ascending', { $gt: 'm' }],
    ['after a key', rangeAfter, open, 'descending', { $gt: '', $lt: 'm' }],
    ['after a key', rangeAfter, { $gt: '', $lte: 'y' }, 'ascending', { $gt: 'm', $lte: 'y' }],
    ['up to a key', rangeUpTo, closed, 'ascending', { $gte: 'b', $lte: 'm' }],
    ['up to a key', rangeUpTo, closed, 'descending', { $gte: 'm', $lt: 'y' }],
    ['up to a key', rangeUpTo, open, 'descending', { $gte: 'm' }],
  ] as const)('%s keeps its other bound: %#', (_, part, range, direction, expected) => {
    expect(part(range, direction, 'm')).toEqual(expected);
  });
});
