import { execFileSync } from 'node:child_process';
import { lstatSync, readFileSync } from 'node:fs';

/** `npm run lines`: the lines of the tracked files by area, and the lines of test to a line of production. */
const areas: [name: string, files: RegExp][] = [
  ['docs', /\.md$/],
  ['unit tests', /^(clients|infra|services|shared)\/.*(\.test|-for-tests)\.ts$/],
  ['tests', /^tests\//],
  ['production', /^(clients|services|shared)\//],
  ['tooling', /^(infra\/|[^/]+\.(mjs|yml)$)/],
];

/** A link has no lines of its own. */
const isWritten = (path: string) =>
  /\.(ts|mjs|css|sh|md|ya?ml|tpl)$/.test(path) &&
  !/\/generated\//.test(path) &&
  !lstatSync(path).isSymbolicLink();
const areaOf = (path: string) => areas.find(([, files]) => files.test(path))?.[0];

const lines = new Map(areas.map(([name]) => [name, 0]));
for (const path of execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n').filter(isWritten)) {
  const area = areaOf(path);
  if (area) lines.set(area, (lines.get(area) ?? 0) + readFileSync(path, 'utf8').split('\n').length - 1);
}

const count = (name: string) => lines.get(name) ?? 0;
for (const name of ['production', 'unit tests', 'tests', 'tooling', 'docs'])
  process.stdout.write(`${name.padEnd(12)}${count(name).toLocaleString('en').padStart(8)}\n`);
const ratio = (count('unit tests') + count('tests')) / count('production');
process.stdout.write(`Lines of test to a line of production: ${ratio.toFixed(2)}\n`);
