import { counted } from './counted.ts';

test.each([
  [0, '0 records'],
  [1, '1 record'],
  [2, '2 records'],
  [1_690, '1,690 records'],
  [0.5, '0.5 records'],
])('%s is counted in the singular only if it is 1', (count, text) => {
  expect(counted(count, 'record')).toBe(text);
});
