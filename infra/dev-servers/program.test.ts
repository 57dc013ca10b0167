import { spawnSync } from 'node:child_process';

const start = (program: string, args: string[]) =>
  spawnSync(process.execPath, [`infra/${program}/main.ts`, ...args], { encoding: 'utf8' });

test.each([
  ['demo', ['--size', '--seed', '--rebuild', '--quiet']],
  ['dev-servers', ['up', 'status', 'env', 'down']],
  ['sample-data', ['eval "$(npm run --silent stack -- env)"']],
])('%s --help explains the options or verbs', (program, words) => {
  const { status, stdout } = start(program, ['--help']);
  expect(status).toBe(0);
  for (const word of words) expect(stdout).toContain(`  ${word}`);
});

test.each([
  ['demo', ['--seed', 'one'], 'It takes a whole number from 0 to 999999999'],
  ['dev-servers', [], '  status '],
  ['sample-data', ['--large'], "unknown option '--large'"],
])('%s %j is a usage error that says why', (program, args, reason) => {
  const { status, stderr } = start(program, args);
  expect(status).toBe(2);
  expect(stderr).toContain(reason);
});
