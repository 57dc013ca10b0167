import { existsSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { debianRoot } from './debian-root.ts';
import { mustRun, run } from './run.ts';

/** `auto` lets Go 1.21 or later download the newer toolchain that a module requires. */
export const buildEnvironment = { CGO_ENABLED: '0', GOTOOLCHAIN: 'auto', GOFLAGS: '' };

/** Whether the host's Go can build a module that requires Go 1.25. */
export async function goBuildsHere(): Promise<boolean> {
  const { ok, output } = await run('go', ['env', 'GOVERSION'], { env: { GOTOOLCHAIN: 'local' } });
  return ok && canFetchToolchains(output.trim());
}

/** Go downloads toolchains on demand since version 1.21. */
export function canFetchToolchains(version: string): boolean {
  const [, major = '0', minor = '0'] = /^go(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 1 || (Number(major) === 1 && Number(minor) >= 21);
}

/** Host files that Go needs inside the root file system to reach the module proxy. */
const networkFiles = ['/etc/resolv.conf', '/etc/hosts', '/etc/ssl/certs/ca-certificates.crt'];

/** Environment variables of the host that configure access to the module proxy. */
const networkVariables = /^(GOPROXY|GONOSUMDB|GONOSUMCHECK|GOSUMDB|GOINSECURE|GOPRIVATE|(https?|no)_proxy)$/i;

/** Runs `go install` with Debian sid's Go in a new root file system at `dir`. Returns the path of the binary. */
export async function goInstallInRoot(dir: string, goModule: string, binary: string): Promise<string> {
  await mkdir(dir);
  await debianRoot(dir, ['golang-go', 'ca-certificates']);
  for (const file of networkFiles) if (existsSync(file)) await copyFile(file, join(dir, file));
  const inherited = Object.entries(process.env).filter(([name]) => networkVariables.test(name));
  const env = { ...Object.fromEntries(inherited), ...buildEnvironment, GOBIN: '/out', HOME: '/root' };
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value ?? ''}`);
  const enter = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"';
  const unshare = ['--mount', '--propagation', 'private', 'sh', '-c', enter, dir];
  await mustRun('unshare', [
    ...unshare,
    'env',
    '-i',
    'PATH=/usr/bin:/bin',
    ...settings,
    'go',
    'install',
    goModule,
  ]);
  return join(dir, 'out', binary);
}
