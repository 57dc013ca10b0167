import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { run } from '../../infra/dev-servers/native/run.ts';
import { useOpened } from '../support/use-opened.ts';
import { installHelm3, installKubeconform, installSchemas } from './tools.ts';

const execute = promisify(execFile);

/** Values of the chart; a test gives only the values that differ from the defaults. */
export type Values = Record<string, unknown>;

type Container = {
  image: string;
  env?: { name: string; value: string }[];
  envFrom?: unknown[];
  command?: string[];
  volumeMounts?: { mountPath: string }[];
  securityContext: Record<string, unknown>;
  resources: { limits: Record<string, string> };
  readinessProbe?: Record<string, unknown>;
  terminationMessagePolicy?: string;
};

type PodTemplate = {
  metadata: { annotations?: Record<string, string>; labels: Record<string, string> };
  spec: {
    containers: Container[];
    affinity?: Record<string, unknown>;
    terminationGracePeriodSeconds?: number;
    topologySpreadConstraints?: Record<string, unknown>[];
    automountServiceAccountToken: boolean;
    securityContext: Record<string, unknown>;
  };
};

/** An object of Kubernetes, as far as the tests read it. */
export type Manifest = {
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  data?: Record<string, string>;
  spec?: {
    replicas?: number;
    template?: PodTemplate;
    jobTemplate?: { spec: { template: PodTemplate } };
    [field: string]: unknown;
  };
};

export const report = (line: string) => process.stdout.write(`${line}\n`);

/** Opens the chart in infra/helm for the tests of a file. Installs the tools first, so only a test may use it. */
export const useChart = () => useOpened(openChart);

async function openChart() {
  const helm = await installHelm3(report);
  const kubeconform = await installKubeconform(report);
  const { schemas } = await installSchemas(report);
  const folder = mkdtempSync(join(tmpdir(), 'chart-'));
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  // A Helm that `go install` has built takes the cluster for Kubernetes 1.20.
  const options = (values: Values, namespace = 'prod') => {
    const path = file('values.json', JSON.stringify(values));
    return ['infra/helm', '--namespace', namespace, '--kube-version', '1.37.2', '--values', path];
  };
  const schema = join(schemas, '{{.ResourceKind}}{{.KindSuffix}}.json');
  return {
    close: async () => rmSync(folder, { recursive: true }),
    lint: (values: Values) => run(helm, ['lint', '--strict', ...options(values)]),
    /** Returns the manifests that `helm template` prints. Rejects with the error of Helm. */
    template: async (values: Values, { release = 'support', namespace = 'prod' } = {}) => {
      const args = ['template', release, ...options(values, namespace)];
      const { stdout } = await execute(helm, args, { maxBuffer: 10_000_000 });
      return stdout;
    },
    conform: (manifests: string) => {
      const path = file('manifests.yaml', manifests);
      return run(kubeconform, ['-strict', '-summary', '-schema-location', schema, path]);
    },
  };
}

/** Leaves out empty documents, which a template prints whose condition does not hold. */
export function parseManifests(text: string): Manifest[] {
  const parsed = parseAllDocuments(text).map((document) => document.toJS() as Manifest | null);
  return parsed.filter((manifest) => manifest !== null);
}

/** The pod of a manifest; undefined for a manifest that starts none. */
export function podOf(manifest: Manifest | undefined): PodTemplate | undefined {
  if (!manifest) return undefined;
  const { kind, metadata, spec } = manifest;
  if (kind === 'Pod') return { metadata, spec } as unknown as PodTemplate;
  return spec?.jobTemplate?.spec.template ?? spec?.template;
}

/** The container of the chart: the first of the pod. An operator may add others. */
export const containerOf = (manifest: Manifest | undefined): Container | undefined =>
  podOf(manifest)?.spec.containers[0];

/** The settings and other variables of the chart's container. */
export function variablesOf(manifest: Manifest | undefined): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const { name, value } of containerOf(manifest)?.env ?? []) variables[name] = value;
  return variables;
}

export const named = (manifests: Manifest[], kind: string, name: string) =>
  manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
