import { keyRange } from './key-range.ts';

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
