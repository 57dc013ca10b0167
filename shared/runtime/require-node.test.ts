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
  expect({ stderr, stdout, status }).toEqual({
    stderr:
      'This needs Node 26 or later, and is run by Node 20.20.2. `npm ci --include=dev` installs one for this project.\n',
    stdout: '',
    status: 2,
  });
});

test('the Node of the development dependencies and that of the image are not older', () => {
  const [, pinned] = /^\^(\d+)\./.exec(manifest.devDependencies.node) ?? [];
  const dockerfile = readFileSync('infra/images/Dockerfile', 'utf8');
  const [, image] = /^ARG NODE_IMAGE=node:(\d+)\./m.exec(dockerfile) ?? [];
  expect(Number(pinned)).toBeGreaterThanOrEqual(24);
  expect(image).toBe(pinned);
});
