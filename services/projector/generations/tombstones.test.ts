import { lagToRecord } from './tombstones.ts';

test('a lag that grows for a week is recorded about a hundred times', () => {
  let recorded = 0;
  let writes = 0;
  let largestRatio = 0;
  for (let seconds = 60; seconds < 7 * 86_400; seconds += 1) {
    const longest = lagToRecord(seconds, recorded);
    if (longest > recorded) writes += 1;
    recorded = longest;
    largestRatio = Math.max(largestRatio, seconds / recorded);
  }
  expect(writes).toBeLessThan(120);
  expect(largestRatio).toBeLessThanOrEqual(1.1);
});
