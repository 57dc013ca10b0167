import { join } from 'node:path';
import { cacheDir, withLock } from './cache.ts';
import { step } from './progress.ts';
import { mustRun, run } from './run.ts';

/** A tool that the native servers need on the host, and the Debian package that contains it. */
export type Tool = { what: string; package: string; present: () => Promise<boolean> };

const java: Tool = {
  what: 'Java ≥ 17',
  // The release's default: 17 on Debian 12, 21 on Debian 13.
  package: 'default-jre-headless',
  present: async () => javaVersion((await run('java', ['-version'])).output) >= 17,
};
const maven: Tool = { what: 'Maven', package: 'maven', present: async () => (await run('mvn', ['-v'])).ok };
const mmdebstrap: Tool = {
  what: 'mmdebstrap',
  package: 'mmdebstrap',
  present: async () => (await run('mmdebstrap', ['--version'])).ok,
};

/** The major version in the output of `java -version`, such as `openjdk version "17.0.15"`; 0 if there is none. */
export const javaVersion = (output: string): number => Number(/version "(\d+)/.exec(output)?.[1] ?? 0);

/** Why the native servers cannot run on this machine, as a clause that no package can change; undefined if they can. */
export async function obstacle(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'needs Linux: the store runs in a Debian root file system';
  if (process.getuid?.() !== 0) return 'needs root, to run the store in a Debian root file system';
  const mountable = await run('unshare', ['--mount', '--propagation', 'private', 'true']);
  if (!mountable.ok) return 'needs the right to mount (CAP_SYS_ADMIN), which this container does not have';
  return undefined;
}

/** The tools that the native servers need: Maven and mmdebstrap only for an installation that is still missing. */
export const stackTools = (stillToInstall: { kafka: boolean; store: boolean }): Tool[] => [
  java,
  ...(stillToInstall.kafka ? [maven] : []),
  ...(stillToInstall.store ? [mmdebstrap] : []),
];

/** Installs missing tools from Debian's packages. Returns undefined, or a clause that names the tools still missing. */
export async function provideTools(
  report: (line: string) => void,
  needed: Tool[],
): Promise<string | undefined> {
  const present = await Promise.all(needed.map((tool) => tool.present()));
  const missing = needed.filter((_, index) => !present[index]);
  if (missing.length === 0) return undefined;
  const names = missing.map(({ what }) => what).join(', ');
  if (!(await run('apt-get', ['--version'])).ok)
    return `needs ${names}: install them, or run on Debian as root`;
  const packages = missing.map((tool) => tool.package);
  try {
    await step(report, `Debian packages ${packages.join(', ')}: installing`, () => aptInstall(packages));
  } catch (error) {
    return `needs ${names}, and installing them failed: ${String(error)}`;
  }
  return undefined;
}

const env = { DEBIAN_FRONTEND: 'noninteractive' };
const wait = ['-o', 'DPkg::Lock::Timeout=300'];

/** Installs Debian packages. Rejects without apt-get, or without permission to use it. */
export async function aptInstall(packages: string[]): Promise<void> {
  await aptUpdate();
  const install = ['install', '--yes', '--no-install-recommends', ...wait, ...packages];
  await withAptLock(() => mustRun('apt-get', install, { env }));
}

/** Updates apt's index. Ignores failures, because an unreachable vendor must not block Debian's own packages. */
export const aptUpdate = () => withAptLock(() => run('apt-get', ['update', ...wait], { env }));

async function withAptLock<T>(work: () => Promise<T>): Promise<T> {
  await mustRun('mkdir', ['-p', cacheDir()]);
  return withLock(join(cacheDir(), 'apt.lock'), work);
}
