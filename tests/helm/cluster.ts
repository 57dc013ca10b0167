import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../infra/dev-servers/temporary-folder.ts';
import { startControlPlane } from '../../infra/kubernetes/control-plane.ts';
import { findKubernetes } from '../../infra/kubernetes/install.ts';
import { describeUnless } from '../support/unless-missing.ts';
import { useOpened } from '../support/use-opened.ts';
import { report, type Values } from './chart.ts';
import { installHelm3, installHelm4, installSchemas } from './tools.ts';

const execute = promisify(execFile);

export type HelmVersion = 3 | 4;

/** The last released chart, as `helm package` made it. */
const released = 'tests/helm/released/support-read-models-1.0.0.tgz';

/** A `describe` with its own API server. Jest skips it on a machine without the programs of Kubernetes. */
export function describeCluster(name: string, body: (cluster: Cluster) => void): void {
  const kubernetes = findKubernetes();
  const missing = 'missing' in kubernetes ? kubernetes.missing : null;
  const open = () => openCluster('folder' in kubernetes ? kubernetes.folder : '');
  describeUnless(missing, name, () => body(useOpened(open)));
}

type Cluster = Awaited<ReturnType<typeof openCluster>>;

/**
 * Compares two folders of objects for `kubectl diff`, without the fields that controllers may write at any time.
 * kubectl reads an object before its dry run, and a status that changes in between is no difference of the chart.
 */
const diffOfManifests = `#!/bin/sh
set -eu
find "$1" "$2" -type f -exec \\
  sed -i -e '/^status:/,$d' -e '/^  resourceVersion:/d' -e '/^    deployment.kubernetes.io.revision:/d' {} +
exec diff -u -N "$1" "$2"
`;

/** A pod as far as the kubelet of these tests reads it. */
type Pod = {
  metadata: { name: string; namespace: string; deletionTimestamp?: string };
  spec: { restartPolicy: string; nodeName?: string };
  status: { phase?: string };
};

/**
 * An API server with the definitions of the custom resources, and Helm 3 and 4. `programs` is the folder of Kubernetes.
 */
async function openCluster(programs: string) {
  const { path: folder, remove } = await temporaryFolder('support-cluster-');
  const helms = { 3: await installHelm3(report), 4: await installHelm4(report) };
  const { definitions } = await installSchemas(report);
  const plane = await startControlPlane(programs, folder);
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o700 });
    return join(folder, name);
  };
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    KUBECONFIG: plane.kubeconfig,
    KUBECTL_EXTERNAL_DIFF: file('diff.sh', diffOfManifests),
  };
  const options = { env, maxBuffer: 100_000_000 };
  const joinOutput = ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr;

  const kubectl = async (...args: string[]) => joinOutput(await execute(plane.kubectl, args, options));
  const get = async <T>(...args: string[]) => JSON.parse(await kubectl('get', ...args, '-o', 'json')) as T;
  const helm = async (version: HelmVersion, ...args: string[]) =>
    joinOutput(await execute(helms[version], args, options));
  await kubectl('apply', '--server-side', '-f', definitions);
  const packaged = await helm(3, 'package', 'infra/helm', '--destination', folder);
  const chart = /saved it to: (.+)/.exec(packaged)?.[1] ?? '';
  const applyObjects = (objects: object) =>
    kubectl('apply', '--server-side', '--filename', file('objects.json', JSON.stringify(objects)));
  /** Creates nodes with these labels. Replaces the labels of a node that exists. */
  const createNodes = async (nodes: Record<string, Record<string, string>>) => {
    for (const [name, labels] of Object.entries(nodes)) {
      await applyObjects(nodeOf(name, labels));
      await kubectl(
        'patch',
        'node',
        name,
        '--subresource=status',
        '--patch',
        JSON.stringify({ status: readyNode }),
      );
      // The API server marks a new node as not ready. A controller, which does not run here, would remove the mark.
      await kubectl('patch', 'node', name, '--patch', JSON.stringify({ spec: { taints: [] } }));
    }
  };
  await createNodes({ 'node-1': { disk: 'ssd' }, 'node-2': { disk: 'ssd' } });
  const kubelet = startKubelet(kubectl, get);
  return {
    kubectl,
    get,
    kubelet,
    createNodes,
    /** Runs Helm in a namespace on the release `support`, and returns its output. */
    helmIn: (namespace: string, version: HelmVersion) => {
      const run = (verb: string, ...args: string[]) =>
        helm(version, verb, '--namespace', namespace, '--timeout', '2m', ...args);
      const withValues =
        (verb: string, from: string) =>
        (values: Values, ...args: string[]) =>
          run(verb, 'support', from, '--values', file('values.json', JSON.stringify(values)), ...args);
      return {
        installReleased: withValues('install', released),
        install: withValues('install', chart),
        upgrade: withValues('upgrade', chart),
        rollback: (revision: number, ...args: string[]) => run('rollback', 'support', `${revision}`, ...args),
        uninstall: () => run('uninstall', 'support'),
        test: () => run('test', 'support'),
        manifest: () => helm(version, 'get', 'manifest', 'support', '--namespace', namespace),
        /** The status of each revision, the oldest first. */
        history: async () => {
          const printed = await helm(
            version,
            'history',
            'support',
            '--namespace',
            namespace,
            '--output',
            'json',
          );
          return (JSON.parse(printed) as { status: string }[]).map(({ status }) => status);
        },
      };
    },
    manifestsFile: (text: string) => file('manifests.yaml', text),
    /** Rejects with the differences if manifests would change objects of the cluster. Returns the warnings. */
    expectUnchanged: async (namespace: string, manifests: string): Promise<string> => {
      const args = ['diff', '--server-side', '--force-conflicts', '--namespace', namespace];
      type Failed = { code: number; stdout: string; stderr: string };
      const { stderr } = await execute(
        plane.kubectl,
        [...args, '-f', file('manifests.yaml', manifests)],
        options,
      ).catch(({ code, stdout, stderr: diffErrors }: Failed) => {
        throw new Error(`kubectl diff exits with ${code}:\n${stdout}${diffErrors}`);
      });
      return stderr;
    },
    /** Creates a namespace of Pod Security "restricted". Helm and kubectl print the warnings of that policy. */
    createNamespace: async (name: string) => {
      await kubectl('create', 'namespace', name);
      const modes = ['enforce', 'warn', 'audit'].map(
        (mode) => `pod-security.kubernetes.io/${mode}=restricted`,
      );
      await kubectl('label', 'namespace', name, ...modes);
    },
    close: async () => {
      await kubelet.stop();
      await plane.close();
      await remove();
    },
  };
}

const nodeOf = (name: string, labels: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
});

const readyNode = {
  allocatable: { cpu: '64', memory: '256Gi', pods: '1000' },
  capacity: { cpu: '64', memory: '256Gi', pods: '1000' },
  conditions: [{ type: 'Ready', status: 'True' }],
};

/**
 * Sets the states of pods in place of a kubelet:
 *
 * - A pod that runs once succeeds, or fails if `fails` returns true for its name.
 * - Any other pod becomes ready if `readies` is set.
 * - A pod for which `starts` returns false stays pending, as if its image were missing.
 */
function startKubelet(
  kubectl: (...args: string[]) => Promise<string>,
  get: <T>(...args: string[]) => Promise<T>,
) {
  const controls = { fails: (_pod: string) => false, starts: (_pod: string) => true, readies: true };
  let isStopped = false;
  const statusOf = ({ metadata: { name }, spec: { restartPolicy } }: Pod) => {
    if (restartPolicy === 'Never') return { phase: controls.fails(name) ? 'Failed' : 'Succeeded' };
    if (!controls.readies) return { phase: 'Running' };
    const lastTransitionTime = new Date().toISOString();
    const conditions = ['Ready', 'ContainersReady'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime,
    }));
    return { phase: 'Running', conditions };
  };
  const updatePods = async () => {
    const { items } = await get<{ items: Pod[] }>('pods', '--all-namespaces');
    for (const pod of items) {
      const { name, namespace } = pod.metadata;
      if (pod.metadata.deletionTimestamp) {
        await kubectl('delete', 'pod', name, '--namespace', namespace, '--force').catch(() => undefined);
        continue;
      }
      const isPlaced = pod.spec.nodeName !== undefined;
      if (pod.status.phase !== 'Pending' || !isPlaced || !controls.starts(name)) continue;
      const patch = JSON.stringify({ status: statusOf(pod) });
      const args = ['patch', 'pod', name, '--namespace', namespace, '--subresource=status', '--patch', patch];
      // The patch fails if the pod's owner has just deleted the pod.
      await kubectl(...args).catch(() => undefined);
    }
  };
  const running = (async () => {
    while (!isStopped) {
      await updatePods().catch(() => undefined);
      await sleep(200);
    }
  })();
  const stop = async () => {
    isStopped = true;
    await running;
  };
  return Object.assign(controls, { stop });
}
