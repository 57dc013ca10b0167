import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, installOnce } from '../../infra/dev-servers/native/cache.ts';
import { type Go, withGo } from '../../infra/dev-servers/native/go.ts';
import { reportStep } from '../../infra/dev-servers/native/progress.ts';
import { kubernetesVersion } from '../../infra/kubernetes/install.ts';
import { customSchemas, kubernetesSchemas } from './schemas.ts';

type Report = (line: string) => void;

/** Go programs, by module and version. */
const helm3 = { path: 'helm.sh/helm/v3/cmd/helm', version: 'v3.22.0' };
const helm4 = { path: 'helm.sh/helm/v4/cmd/helm', version: 'v4.3.1' };
const kubeconform = { path: 'github.com/yannh/kubeconform/cmd/kubeconform', version: 'v0.8.0' };

/** Go modules, and their files that describe custom resources. */
const operator = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
const customResources = [
  ['github.com/kedacore/keda/v2@v2.21.0', 'config/crd/bases/keda.sh_scaledobjects.yaml'],
  ['sigs.k8s.io/gateway-api@v1.4.0', 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  ...['servicemonitors', 'prometheusrules'].map(
    (name) => [operator, `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`] as const,
  ),
] as const;

export const installHelm3 = (report: Report) => installProgram(helm3, report);
export const installHelm4 = (report: Report) => installProgram(helm4, report);
export const installKubeconform = (report: Report) => installProgram(kubeconform, report);

/** Builds a program from its Go module, once. Returns its path. */
async function installProgram({ path, version }: typeof helm3, report: Report): Promise<string> {
  const name = path.split('/').at(-1) ?? '';
  const folder = await installOnce(join(cacheDir(), `${name}-${version}`), (partial) =>
    reportStep(report, `${name} ${version}: building with Go (1 to 3 minutes)`, () =>
      // Two compilers at the same time bound the memory on a machine with many cores.
      withGo(partial, (go) => go.run('install', '-p', '2', `${path}@${version}`)),
    ),
  );
  return join(folder, name);
}

/**
 * Downloads the definitions of Kubernetes, KEDA, the Gateway API and Prometheus. Returns two folders: one of a JSON
 * schema for each kind, one of the definitions of the custom resources.
 */
export async function installSchemas(report: Report): Promise<{ schemas: string; definitions: string }> {
  const versions = [kubernetesVersion, ...new Set(customResources.map(([module]) => module.split('@')[1]))];
  const folder = await installOnce(join(cacheDir(), `kubernetes-schemas-${versions.join('-')}`), (partial) =>
    reportStep(report, 'Schemas of Kubernetes and of custom resources: downloading', () =>
      withGo(partial, (go) => writeSchemas(go, partial)),
    ),
  );
  return { schemas: join(folder, 'schemas'), definitions: join(folder, 'definitions') };
}

async function writeSchemas(go: Go, folder: string): Promise<void> {
  const files = kubernetesSchemas(
    await moduleFile(go, `k8s.io/kubernetes@${kubernetesVersion}`, 'api/openapi-spec/swagger.json'),
  );
  await mkdir(join(folder, 'definitions'));
  for (const [module, file] of customResources) {
    const definition = await moduleFile(go, module, file);
    Object.assign(files, customSchemas(definition));
    await writeFile(join(folder, 'definitions', file.split('/').at(-1) ?? ''), definition);
  }
  await mkdir(join(folder, 'schemas'));
  for (const [name, schema] of Object.entries(files))
    await writeFile(join(folder, 'schemas', name), JSON.stringify(schema));
}

/** The text of a file of a Go module, which is downloaded first. */
async function moduleFile(go: Go, module: string, file: string): Promise<string> {
  const output = await go.run('mod', 'download', '-json', module);
  const { Dir } = JSON.parse(output.slice(output.indexOf('{'))) as { Dir: string };
  return readFileSync(join(go.hostPath(Dir), file), 'utf8');
}
