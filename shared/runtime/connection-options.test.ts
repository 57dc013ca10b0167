import { createRequire } from 'node:module';
import { connectionRules } from './connection-options.ts';

const { OPTIONS } = createRequire(import.meta.url)('mongodb/lib/connection_string') as { OPTIONS: object };

test('every option that the driver takes has one rule, and no rule is of an option that it does not take', () => {
  const ruled = connectionRules.flatMap(({ options }) => options);
  expect(ruled.toSorted()).toEqual(Object.keys(OPTIONS).toSorted());
});
