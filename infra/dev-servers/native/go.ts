import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { installDebianRoot } from './debian-root.ts';
import { mustRun, run } from './run.ts';

/** `auto` lets Go download the newer toolchain that a module requires. */
const buildVariables = { CGO_ENABLED: '0', GOTOOLCHAIN: 'auto', GOFLAGS: '' };

/**
 * Whether this machine has Go 1.21 or later, which can download newer toolchains. Older versions print an empty
 * GOTOOLCHAIN.
 */
async function hasGo121(): Promise<boolean> {
  const { ok, output } = await run('go', ['env', 'GOTOOLCHAIN']);
  return ok && output.trim() !== '';
}

/** Files of this machine that Go needs inside the root file system, to reach the module proxy. */
const networkFiles = ['/etc/resolv.conf', '/etc/hosts', '/etc/ssl/certs/ca-certificates.crt'];

/** Environment variables of this machine that configure the access to the module proxy. */
const networkVariables = /^(GOPROXY|GONOSUMDB|GONOSUMCHECK|GOSUMDB|GOINSECURE|GOPRIVATE|(https?|no)_proxy)$/i;

export type Go = {
  /** Runs `go` with arguments, and returns its output. */
  run: (...args: string[]) => Promise<string>;
  /** Translates a path that `go` prints to a path on this machine. */
  hostPath: (path: string) => string;
};

/**
 * Lets `use` run Go. `go install` puts programs into `folder`. Uses this machine's Go if it is recent enough, otherwise
 * Debian sid's, in a temporary root file system inside that folder. After a failure, the next `installOnce` removes it.
 */
export async function withGo(folder: string, use: (go: Go) => Promise<unknown>): Promise<void> {
  if (await hasGo121()) {
    const env = { ...buildVariables, GOBIN: folder };
    await use({ run: (...args) => mustRun('go', args, { env }), hostPath: (path) => path });
    return;
  }
  const root = join(folder, 'root');
  await mkdir(root);
  await installDebianRoot(root, ['golang-go', 'ca-certificates']);
  for (const file of networkFiles.filter((path) => existsSync(path))) await copyFile(file, join(root, file));
  await use({ run: (...args) => runGoInRoot(root, args), hostPath: (path) => join(root, path) });
  await cp(join(root, 'out'), folder, { recursive: true });
  // Never deletes the files of this machine through a mount that is left in the root.
  await mustRun('rm', ['-rf', '--one-file-system', root]);
}

/**
 * Runs `go` inside a root file system, in a mount namespace of its own. So the mount of /proc ends with `go`. `sh -c`
 * passes the root as $0. `private` keeps the mount from this machine's namespace.
 */
async function runGoInRoot(root: string, args: string[]): Promise<string> {
  const inherited = Object.entries(process.env).filter(([name]) => networkVariables.test(name));
  const variables = {
    ...Object.fromEntries(inherited),
    ...buildVariables,
    GOBIN: '/out',
    HOME: '/root',
    PATH: '/usr/bin:/bin',
  };
  const assignments = Object.entries(variables).map(([name, value]) => `${name}=${value ?? ''}`);
  const mountAndEnter = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"';
  const unshareArgs = ['--mount', '--propagation', 'private', 'sh', '-c', mountAndEnter, root];
  return mustRun('unshare', [...unshareArgs, 'env', '-i', ...assignments, 'go', ...args]);
}
