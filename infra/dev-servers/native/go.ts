import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { installDebianRoot } from './debian-root.ts';
import { mustRun, run } from './run.ts';

/** `auto` lets Go download the newer toolchain that a module requires. */
const buildEnvironment = { CGO_ENABLED: '0', GOTOOLCHAIN: 'auto', GOFLAGS: '' };

/** Whether this machine has a Go that downloads newer toolchains. Versions before 1.21 do not know the variable. */
async function goBuildsHere(): Promise<boolean> {
  const { ok, output } = await run('go', ['env', 'GOTOOLCHAIN']);
  return ok && output.trim() !== '';
}

/** Files of this machine that Go needs inside the root file system, to reach the module proxy. */
const networkFiles = ['/etc/resolv.conf', '/etc/hosts', '/etc/ssl/certs/ca-certificates.crt'];

/** Environment variables of this machine that configure the access to the module proxy. */
const networkVariables = /^(GOPROXY|GONOSUMDB|GONOSUMCHECK|GOSUMDB|GOINSECURE|GOPRIVATE|(https?|no)_proxy)$/i;

/** Runs `go` with arguments and returns its output. `local` is the path on this machine of a path that `go` printed. */
export type Go = { run: (...args: string[]) => Promise<string>; local: (path: string) => string };

/**
 * Lets `use` run Go. `go install` puts programs into `folder`. Go is that of this machine, or that of Debian sid in a
 * temporary root file system inside that folder.
 */
export async function withGo(folder: string, use: (go: Go) => Promise<unknown>): Promise<void> {
  if (await goBuildsHere()) {
    const env = { ...buildEnvironment, GOBIN: folder };
    await use({ run: (...args) => mustRun('go', args, { env }), local: (path) => path });
    return;
  }
  const root = join(folder, 'root');
  await mkdir(root);
  await installDebianRoot(root, ['golang-go', 'ca-certificates']);
  for (const file of networkFiles) if (existsSync(file)) await copyFile(file, join(root, file));
  await use({ run: (...args) => goInRoot(root, args), local: (path) => join(root, path) });
  await cp(join(root, 'out'), folder, { recursive: true });
  await mustRun('rm', ['-rf', '--one-file-system', root]);
}

async function goInRoot(root: string, args: string[]): Promise<string> {
  const inherited = Object.entries(process.env).filter(([name]) => networkVariables.test(name));
  const env = { ...Object.fromEntries(inherited), ...buildEnvironment, GOBIN: '/out', HOME: '/root' };
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value ?? ''}`);
  const enter = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"';
  const unshare = ['--mount', '--propagation', 'private', 'sh', '-c', enter, root];
  return mustRun('unshare', [...unshare, 'env', '-i', 'PATH=/usr/bin:/bin', ...settings, 'go', ...args]);
}
