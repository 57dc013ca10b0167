import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, installOnce } from './cache.ts';
import { debianCodename } from './debian-root.ts';
import { aptUpdate } from './prerequisites.ts';
import { reportStep } from './progress.ts';
import { mustRun, run } from './run.ts';

/**
 * Returns the command that runs the first available of several servers, which have the names of their Debian packages.
 * It is the program of this machine, or else of a Debian package. Packages are only unpacked: their installation would
 * start a service. An installed program prints its version for `versionFlag`.
 */
export async function findDebianProgram(
  report: (line: string) => void,
  candidates: [string, ...string[]],
  versionFlag: string,
): Promise<string[]> {
  for (const name of candidates) {
    if ((await run(name, [versionFlag])).ok) return [name];
  }
  const [first] = candidates;
  const folder = await installOnce(join(cacheDir(), `${first}-${debianCodename()}`), (partial) =>
    reportStep(report, `${first}: fetching from Debian (a few MB)`, () => unpack(candidates, partial)),
  );
  const architecture = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  const libraries = join(folder, 'usr/lib', `${architecture}-linux-gnu`);
  const paths = candidates.flatMap((name) => [join(folder, 'usr/bin', name), join(folder, 'usr/sbin', name)]);
  const program = paths.find((path) => existsSync(path));
  if (program === undefined) throw new Error(`${folder} does not contain ${candidates.join(' or ')}`);
  return ['env', `LD_LIBRARY_PATH=${libraries}`, program];
}

async function unpack(candidates: string[], folder: string): Promise<void> {
  await aptUpdate();
  const lookUps = await Promise.all(candidates.map((name) => run('apt-cache', ['show', name])));
  const server = candidates.find((_, index) => lookUps[index]?.ok);
  if (server === undefined) throw new Error(`needs ${candidates.join(' or ')}: install it, or run on Debian`);
  const plan = await mustRun('apt-get', ['install', '--simulate', '--no-install-recommends', server]);
  // Takes only packages that this machine lacks (`Inst`), and no upgrades of installed packages.
  const packages = [...plan.matchAll(/^Inst (\S+) \(/gm)].map(([, name]) => String(name));
  await mustRun('apt-get', ['download', ...packages], { cwd: folder });
  await mustRun(
    'sh',
    ['-c', 'for file in *.deb; do dpkg-deb --extract "$file" . || exit 1; rm "$file"; done'],
    { cwd: folder },
  );
}
