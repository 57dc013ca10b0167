import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, installOnce } from '../dev-servers/native/cache.ts';
import { reportStep } from '../dev-servers/native/progress.ts';
import { mustRun } from '../dev-servers/native/run.ts';

export const kubernetesVersion = 'v1.37.2';

const programs = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'];

const sourceFile = join(import.meta.dirname, 'kubernetes.go');

/** The name contains a digest of kubernetes.go. Without the digest, a run could use programs of an earlier source. */
const builtFolder = () => {
  const digest = createHash('sha256').update(readFileSync(sourceFile)).digest('hex').slice(0, 8);
  return join(cacheDir(), `kubernetes-${kubernetesVersion}-${digest}`);
};

/** The folder with the programs of a Kubernetes without nodes, or the reason why it is missing. */
export type Kubernetes = { folder: string } | { missing: string };

/** Finds the programs in the folder in KUBEBUILDER_ASSETS, as envtest does, or else in the cache. */
export function findKubernetes(assets = process.env.KUBEBUILDER_ASSETS): Kubernetes {
  const folder = assets || builtFolder();
  const missing = programs.filter((name) => !existsSync(join(folder, name)));
  if (missing.length === 0) return { folder };
  const place = assets ? 'KUBEBUILDER_ASSETS' : 'the cache';
  return { missing: `${place} has no ${missing.join(', ')}; npx node infra/kubernetes/main.ts builds them` };
}

/**
 * Builds the programs with this machine's Go, once: some 6 minutes on two idle cores, half an hour beside other work.
 */
export const buildKubernetes = (report: (line: string) => void): Promise<string> =>
  installOnce(builtFolder(), (partial) =>
    reportStep(report, `Kubernetes ${kubernetesVersion}: building with Go (6 minutes and more)`, () =>
      build(partial),
    ),
  );

/** GOTOOLCHAIN lets Go download the toolchain that Kubernetes requires. GOFLAGS lets Go add the libraries to go.sum. */
const env = { CGO_ENABLED: '0', GOTOOLCHAIN: 'auto', GOFLAGS: '-mod=mod' };

async function build(folder: string): Promise<void> {
  const source = join(folder, 'source');
  await mkdir(source);
  await copyFile(sourceFile, join(source, 'main.go'));
  const module = `k8s.io/kubernetes@${kubernetesVersion}`;
  const downloaded = await mustRun('go', ['mod', 'download', '-json', module], { env });
  // Go may print progress lines before the JSON.
  const { Dir } = JSON.parse(downloaded.slice(downloaded.indexOf('{'))) as { Dir: string };
  // go.mod expects Kubernetes' own libraries in the folder `staging`, which the downloaded module lacks. The libraries
  // are also published as modules: v0.37.2 belongs to Kubernetes v1.37.2.
  const libraryVersion = kubernetesVersion.replace('v1.', 'v0.');
  const goMod = (await readFile(join(Dir, 'go.mod'), 'utf8'))
    .replace(/^module .*/m, 'module kubernetes')
    .replaceAll(/=> \.\/staging\/src\/(\S+)/g, `=> $1 ${libraryVersion}`);
  await writeFile(join(source, 'go.mod'), goMod);
  await writeFile(join(source, 'go.sum'), await readFile(join(Dir, 'go.sum')));
  await mustRun('go', ['mod', 'edit', '-require', module], { cwd: source, env });
  // Without these flags, the programs would report version v0.0.0.
  const versionFlags = ['component-base/version', 'client-go/pkg/version'].map(
    (name) => `-X k8s.io/${name}.gitVersion=${kubernetesVersion}`,
  );
  // Limits Go to two parallel compilers, to bound the memory on a machine with many cores.
  const options = ['-p', '2', '-trimpath', '-ldflags', ['-s', '-w', ...versionFlags].join(' ')];
  await mustRun('go', ['build', ...options, '-o', '../kubernetes', '.'], { cwd: source, env });
  for (const name of programs) await symlink('kubernetes', join(folder, name));
  await rm(source, { recursive: true });
}
