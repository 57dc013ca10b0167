import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../tests/support/eventually.ts';
import { useFolder } from '../tests/support/use-opened.ts';

const folder = useFolder();

test('SIGTERM ends a running installation of the packages', async () => {
  mkdirSync(join(folder.path, 'infra'));
  copyFileSync(join(import.meta.dirname, 'run.sh'), join(folder.path, 'infra/run.sh'));
  const started = join(folder.path, 'started');
  const npm = join(folder.path, 'npm');
  writeFileSync(npm, `#!/bin/sh\necho $$ > "${started}"\nexec sleep 1000\n`);
  chmodSync(npm, 0o755);
  const env = { ...process.env, PATH: `${folder.path}:${process.env.PATH}` };
  const script = spawn('sh', ['infra/run.sh', 'x.ts'], { cwd: folder.path, env, stdio: 'ignore' });
  await eventually(() => existsSync(started) && readFileSync(started, 'utf8').endsWith('\n'));
  const pid = Number(readFileSync(started, 'utf8'));
  script.kill('SIGTERM');
  const [code] = (await once(script, 'exit')) as [number];
  expect(code).toBe(143);
  const hasEnded = () => {
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  };
  await eventually(hasEnded);
});

test('one line names the library that the pinned Node lacks, and the package of the library', () => {
  mkdirSync(join(folder.path, 'infra'), { recursive: true });
  mkdirSync(join(folder.path, 'node_modules/.bin'), { recursive: true });
  copyFileSync(join(import.meta.dirname, 'run.sh'), join(folder.path, 'infra/run.sh'));
  writeFileSync(join(folder.path, 'package-lock.json'), '{}');
  writeFileSync(join(folder.path, 'node_modules/.package-lock.json'), '{}');
  const node = join(folder.path, 'node_modules/.bin/node');
  const missing = 'libatomic.so.1: cannot open shared object file: No such file or directory';
  const loader = `node: error while loading shared libraries: ${missing}`;
  writeFileSync(node, `#!/bin/sh\necho '${loader}' >&2\nexit 127\n`);
  chmodSync(node, 0o755);
  const { status, stdout, stderr } = spawnSync('sh', ['infra/run.sh', 'x.ts'], {
    cwd: folder.path,
    encoding: 'utf8',
  });
  expect({ status, stdout, lines: stderr.split('\n').length }).toEqual({ status: 1, stdout: '', lines: 2 });
  expect(stderr).toContain(`The project's Node 26 does not run here: ${missing}.`);
  expect(stderr).toContain('apt-get install libatomic1');
});

test('npm runs only the install script of the pinned Node', () => {
  type Lock = { packages: Record<string, { hasInstallScript?: true }> };
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock;
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { allowScripts: object };
  const withScript = Object.keys(packages).filter((path) => packages[path]?.hasInstallScript);
  const names = [...new Set(withScript.map((path) => path.replace(/^.*node_modules\//, '')))].toSorted();
  expect(names).toContain('node');
  expect(manifest.allowScripts).toEqual(Object.fromEntries(names.map((name) => [name, name === 'node'])));
});
