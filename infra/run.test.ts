import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../tests/support/eventually.ts';
import { useFolder } from '../tests/support/use-opened.ts';

const folder = useFolder();

test('SIGTERM while the packages are installed ends the installation, too', async () => {
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

test('npm runs the install script of the pinned Node alone, which takes its program from the registry', () => {
  type Lock = { packages: Record<string, { hasInstallScript?: true }> };
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock;
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { allowScripts: object };
  const withScript = Object.keys(packages).filter((path) => packages[path]?.hasInstallScript);
  const names = [...new Set(withScript.map((path) => path.replace(/^.*node_modules\//, '')))].toSorted();
  expect(names).toContain('node');
  expect(manifest.allowScripts).toEqual(Object.fromEntries(names.map((name) => [name, name === 'node'])));
});
