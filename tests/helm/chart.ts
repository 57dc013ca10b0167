import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { run } from '../../infra/dev-servers/native/run.ts';
import { useOpened } from '../support/use-opened.ts';
import { installHelmTools, type HelmTools } from './tools.ts';

const execute = promisify(execFile);

/** Values of the chart, of which only those that differ from the defaults are given. */
export type Values = Record<string, unknown>;

type Container = {
  image: string;
  env?: { name: string; value: string }[];
  volumeMounts?: { mountPath: string }[];
  securityContext: Record<string, unknown>;
  resources: { limits: Record<string, string> };
  readinessProbe?: Record<string, unknown>;
};

type PodTemplate = {
  metadata: { annotations?: Record<string, string>; labels: Record<string, string> };
  spec: {
    containers: Container[];
    affinity?: Record<string, unknown>;
    terminationGracePeriodSeconds?: number;
    automountServiceAccountToken: boolean;
    securityContext: Record<string, unknown>;
  };
};

/** An object of Kubernetes, as far as the tests read it. */
export type Manifest = {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  spec?: {
    replicas?: number;
    template?: PodTemplate;
    jobTemplate?: { spec: { template: PodTemplate } };
    [field: string]: unknown;
  };
};

/** The chart in infra/helm for the tests of a file. Its functions exist once a test runs, with the tools installed. */
export const useChart = () =>
  useOpened(async () => openChart(await installHelmTools((line) => process.stdout.write(`${line}\n`))));

function openChart({ helm, kubeconform, schemas }: HelmTools) {
  const folder = mkdtempSync(join(tmpdir(), 'chart-'));
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  // A Helm that `go install` has built takes the cluster for Kubernetes 1.20.
  const options = (values: Values) => [
    ...['infra/helm', '--namespace', 'prod', '--kube-version', '1.37.2'],
    ...['--values', file('values.json', JSON.stringify(values))],
  ];
  const schema = join(schemas, '{{.ResourceKind}}{{.KindSuffix}}.json');
  return {
    close: async () => rmSync(folder, { recursive: true }),
    lint: (values: Values) => run(helm, ['lint', '--strict', ...options(values)]),
    /** Returns the manifests that `helm template` prints. Rejects with the error of Helm. */
    template: async (values: Values) =>
      (await execute(helm, ['template', 'support', ...options(values)], { maxBuffer: 10_000_000 })).stdout,
    conform: (manifests: string) =>
      run(kubeconform, [
        ...['-strict', '-summary', '-schema-location', schema],
        file('manifests.yaml', manifests),
      ]),
  };
}

export const parseManifests = (text: string): Manifest[] =>
  parseAllDocuments(text).map((document) => document.toJS() as Manifest);
