import { createRequire } from 'node:module';
import { connectionRules } from './connection-options.ts';

const { OPTIONS } = createRequire(import.meta.url)('mongodb/lib/connection_string') as { OPTIONS: object };

test('an option has one rule, and the driver takes it', () => {
  const ruled = connectionRules.flatMap(({ options }) => options);
  expect(new Set(ruled).size).toBe(ruled.length);
  expect(ruled.filter((name) => !(name in OPTIONS))).toEqual([]);
});
