import { spawnSync } from 'node:child_process';

test.each([
  ['demo', ['--seed', 'one'], 'It takes a whole number from 0 to 999999999'],
  ['dev-servers', [], '  status '],
  ['sample-data', ['--large'], "unknown option '--large'"],
])('%s %j is a usage error with the reason', (program, args, reason) => {
  const words = [`infra/${program}/main.ts`, ...args];
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr).toContain(reason);
});
