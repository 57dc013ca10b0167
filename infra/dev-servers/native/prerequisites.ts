import { join } from 'node:path';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { cacheDir, withLock } from './cache.ts';
import { reportStep } from './progress.ts';
import { mustRun, run } from './run.ts';

/** A tool that a native server needs on the host, and the Debian package that contains it. */
export type Tool = { what: string; package: string; present: () => Promise<boolean> };

export const java: Tool = {
  what: 'Java ≥ 17',
  // The release's default: 17 on Debian 12, 21 on Debian 13.
  package: 'default-jre-headless',
  present: async () => {
    // Such as `openjdk version "17.0.15"`; Java 8 is "1.8".
    const [, major = 0] = /version "(\d+)/.exec((await run('java', ['-version'])).output) ?? [];
    return Number(major) >= 17;
  },
};
const program = (what: string, name: string): Tool => {
  return { what, package: what.toLowerCase(), present: async () => (await run(name, ['--version'])).ok };
};
export const maven = program('Maven', 'mvn');
export const mmdebstrap = program('mmdebstrap', 'mmdebstrap');

/**
 * Returns a clause that gives the reason if no package can make the stand-in for MongoDB run on this machine.
 */
export async function findStandInObstacle(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'needs root, to run in a Debian root file system';
  const mountable = await run('unshare', ['--mount', '--propagation', 'private', 'true']);
  if (!mountable.ok) return 'needs the right to mount (CAP_SYS_ADMIN), which this container does not have';
  return undefined;
}

/** Installs missing tools from Debian's packages. Rejects with the names of the tools that `user` still lacks. */
export async function requireTools(
  report: (line: string) => void,
  user: string,
  needed: Tool[],
): Promise<void> {
  const present = await Promise.all(needed.map((tool) => tool.present()));
  const missing = needed.filter((_, index) => !present[index]);
  if (missing.length === 0) return;
  const names = missing.map(({ what }) => what).join(', ');
  if (!(await run('apt-get', ['--version'])).ok)
    throw new Error(`${user} needs ${names}: install them, or run on Debian as root`);
  const packages = missing.map((tool) => tool.package);
  try {
    await reportStep(report, `Debian packages ${packages.join(', ')}: installing`, () =>
      aptInstall(packages),
    );
  } catch (error) {
    throw new Error(`${user} needs ${names}, and installing them failed: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

const env = { DEBIAN_FRONTEND: 'noninteractive' };
const wait = ['-o', 'DPkg::Lock::Timeout=300'];

/** Installs Debian packages. Rejects without apt-get, or without permission to use it. */
export async function aptInstall(packages: string[]): Promise<void> {
  await aptUpdate();
  const install = ['install', '--yes', '--no-install-recommends', ...wait, ...packages];
  await withAptLock(() => mustRun('apt-get', install, { env }));
}

/** Updates apt's index. Ignores failures: if a vendor cannot be reached, Debian's own packages may still be there. */
export const aptUpdate = () => withAptLock(() => run('apt-get', ['update', ...wait], { env }));

async function withAptLock<T>(work: () => Promise<T>): Promise<T> {
  await mustRun('mkdir', ['-p', cacheDir()]);
  return withLock(join(cacheDir(), 'apt.lock'), work);
}
