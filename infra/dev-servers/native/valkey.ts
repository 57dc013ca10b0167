import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, installedOnce } from './cache.ts';
import { answers } from './ports.ts';
import { dieWithParent } from '../die-with-parent.ts';
import { aptUpdate } from './prerequisites.ts';
import { step } from './progress.ts';
import { mustRun, run } from './run.ts';
import type { Part } from './server.ts';

/** Debian 13 and later have Valkey; Debian 12 has Redis, of which Valkey is a fork. */
const candidates = ['valkey-server', 'redis-server'];

/** Holds the release's packages, unpacked: installing them would start a service on the machine. */
const unpackedDir = () => {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  return join(cacheDir(), `valkey-${/^VERSION_CODENAME="?([a-z]+)/m.exec(release)?.[1] ?? 'debian'}`);
};

/** Returns the command that runs the server: this machine's own, or the one from Debian's packages. */
export async function installValkey(report: (line: string) => void): Promise<string[]> {
  for (const name of candidates) if ((await run(name, ['--version'])).ok) return [name];
  const folder = await installedOnce(unpackedDir(), (partial) =>
    step(report, 'Valkey: fetching from Debian (about 2 MB)', () => unpack(partial)),
  );
  const libraries = join(folder, 'usr/lib', `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`);
  const name = candidates.find((candidate) => existsSync(join(folder, 'usr/bin', candidate)));
  if (name === undefined) throw new Error(`${folder} does not contain ${candidates.join(' or ')}`);
  return ['env', `LD_LIBRARY_PATH=${libraries}`, join(folder, 'usr/bin', name)];
}

async function unpack(folder: string): Promise<void> {
  await aptUpdate();
  const known = await Promise.all(candidates.map((name) => run('apt-cache', ['show', name])));
  const server = candidates.find((_, index) => known[index]?.ok);
  if (server === undefined) throw new Error(`needs ${candidates.join(' or ')}: install it, or run on Debian`);
  const plan = await mustRun('apt-get', ['install', '--simulate', '--no-install-recommends', server]);
  // Takes only packages that this machine lacks. An upgrade of an installed package is not needed.
  const packages = [...plan.matchAll(/^Inst (\S+) \(/gm)].map(([, name]) => String(name));
  await mustRun('apt-get', ['download', ...packages], { cwd: folder });
  await mustRun(
    'sh',
    ['-c', 'for file in *.deb; do dpkg-deb --extract "$file" . || exit 1; rm "$file"; done'],
    {
      cwd: folder,
    },
  );
}

/** A server on a loopback port that stores nothing on disk. */
export function valkeyPart(program: string[], dir: string, port: number, settings: string[] = []): Part {
  mkdirSync(dir, { recursive: true });
  const [file = '', ...args] = [...dieWithParent(), ...program];
  const fixed = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    dir,
  ];
  return {
    command: {
      name: 'Valkey',
      file,
      args: [...args, ...fixed, ...settings],
      cwd: dir,
      logFile: join(dir, 'valkey.log'),
      stopSignal: 'SIGTERM',
    },
    ready: () => answers(port),
  };
}
