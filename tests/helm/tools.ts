import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, installedOnce } from '../../infra/dev-servers/native/cache.ts';
import { withGo, type Go } from '../../infra/dev-servers/native/go.ts';
import { step } from '../../infra/dev-servers/native/progress.ts';
import { customSchemas, kubernetesSchemas } from './schemas.ts';

const helm = 'v3.22.0';
const kubeconform = 'v0.8.0';
const kubernetes = 'v1.37.2';
const keda = 'v2.21.0';
const prometheusOperator = 'v0.85.0';

/** Go modules, and their files that describe custom resources. */
const operator = `github.com/prometheus-operator/prometheus-operator@${prometheusOperator}`;
const customResources = [
  [`github.com/kedacore/keda/v2@${keda}`, 'config/crd/bases/keda.sh_scaledobjects.yaml'],
  ...['servicemonitors', 'prometheusrules'].map(
    (name) => [operator, `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`] as const,
  ),
] as const;

/** The paths of the programs, and of the folder with a JSON schema of each kind. */
export type HelmTools = { helm: string; kubeconform: string; schemas: string };

/** Builds Helm and kubeconform from their Go modules, and takes the schemas from those of Kubernetes, KEDA and Prometheus. */
export async function installHelmTools(report: (line: string) => void): Promise<HelmTools> {
  const versions = [helm, kubeconform, kubernetes, keda, prometheusOperator, customResources.length];
  const folder = await installedOnce(join(cacheDir(), `helm-tools-${versions.join('-')}`), (partial) =>
    step(report, `Helm ${helm} and kubeconform ${kubeconform}: building with Go (some minutes)`, () =>
      withGo(partial, (go) => install(go, join(partial, 'schemas'))),
    ),
  );
  const [helmPath = '', kubeconformPath = '', schemas = ''] = ['helm', 'kubeconform', 'schemas'].map((name) =>
    join(folder, name),
  );
  return { helm: helmPath, kubeconform: kubeconformPath, schemas };
}

async function install(go: Go, schemas: string): Promise<void> {
  // Two compilers at once bound the memory on a machine with many cores.
  await go.run('install', '-p', '2', `helm.sh/helm/v3/cmd/helm@${helm}`);
  await go.run('install', '-p', '2', `github.com/yannh/kubeconform/cmd/kubeconform@${kubeconform}`);
  const files = kubernetesSchemas(
    await moduleFile(go, `k8s.io/kubernetes@${kubernetes}`, 'api/openapi-spec/swagger.json'),
  );
  for (const [module, file] of customResources)
    Object.assign(files, customSchemas(await moduleFile(go, module, file)));
  await mkdir(schemas);
  for (const [name, schema] of Object.entries(files))
    await writeFile(join(schemas, name), JSON.stringify(schema));
}

/** The text of a file of a Go module, which is downloaded first. */
async function moduleFile(go: Go, module: string, file: string): Promise<string> {
  const output = await go.run('mod', 'download', '-json', module);
  const { Dir } = JSON.parse(output.slice(output.indexOf('{'))) as { Dir: string };
  return readFileSync(join(go.local(Dir), file), 'utf8');
}
