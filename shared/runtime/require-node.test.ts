import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { useFolder } from '../../tests/support/use-opened.ts';

type Manifest = {
  scripts: Record<string, string>;
  bin: Record<string, string>;
  devDependencies: { node: string };
};
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
const folder = useFolder();

/** Runs a command on a Node that says it is version 20.20.2. */
function runOnOldNode(command: string[]) {
  const pretence = join(folder.path, 'old.cjs');
  writeFileSync(pretence, `Object.defineProperty(process.versions, 'node', { value: '20.20.2' })`);
  const [file = '', ...args] = command;
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, NODE_OPTIONS: `--require=${pretence}` };
  return spawnSync(file, args, { env, encoding: 'utf8', cwd: resolve('.') });
}

test.each([
  ['the projector', ['sh', '-c', manifest.scripts.projector ?? '']],
  ['the API', ['sh', '-c', manifest.scripts.api ?? '']],
  ['the console', ['sh', '-c', manifest.scripts.console ?? '']],
  ['the CLI', [resolve(manifest.bin['support-cli'] ?? ''), 'status']],
])('%s on too old a Node says in one line which it needs', (_, command) => {
  const { status, stdout, stderr } = runOnOldNode(command);
  expect([stderr, stdout, status]).toEqual([
    'This needs Node 24 or later, and is run by Node 20.20.2. `npm ci --include=dev` installs one for this project.\n',
    '',
    2,
  ]);
});

test('the Node that is asked for is that of the development dependencies and of the image', () => {
  expect(manifest.devDependencies.node).toMatch(/^\^24\./);
  expect(readFileSync('infra/images/Dockerfile', 'utf8')).toMatch(/^ARG NODE_IMAGE=node:24\./m);
});
