import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startControlPlane } from '../../infra/kubernetes/control-plane.ts';
import { temporaryFolder } from '../../infra/dev-servers/temporary-folder.ts';
import { report, type Values } from './chart.ts';
import { installHelm3, installHelm4, installSchemas } from './tools.ts';

const execute = promisify(execFile);

export type HelmVersion = 3 | 4;

/** A pod as far as the kubelet of these tests reads it. */
type Pod = {
  metadata: { name: string; namespace: string };
  spec: { restartPolicy: string };
  status: { phase?: string };
};

/** An API server with the definitions of the custom resources, and Helm 3 and 4. `programs` is the folder of Kubernetes. */
export async function openCluster(programs: string) {
  const { path: folder, remove } = await temporaryFolder('support-cluster-');
  const helms = { 3: await installHelm3(report), 4: await installHelm4(report) };
  const { definitions } = await installSchemas(report);
  const plane = await startControlPlane(programs, folder);
  const env = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: plane.kubeconfig };
  const options = { env, maxBuffer: 100_000_000 };
  const both = ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr;

  const kubectl = async (...args: string[]) => both(await execute(plane.kubectl, args, options));
  const get = async <T>(...args: string[]) => JSON.parse(await kubectl('get', ...args, '-o', 'json')) as T;
  const helm = async (version: HelmVersion, ...args: string[]) =>
    both(await execute(helms[version], args, options));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  await kubectl('apply', '--server-side', '-f', definitions);
  await execute(helms[3], ['package', 'infra/helm', '--destination', folder], options);
  const kubelet = startKubelet(kubectl, get);
  return {
    kubectl,
    get,
    helm,
    kubelet,
    /** The chart of this commit as a package. */
    chart: join(folder, 'support-read-models-2.0.0.tgz'),
    valuesFile: (values: Values) => file('values.json', JSON.stringify(values)),
    manifestsFile: (text: string) => file('manifests.yaml', text),
    /** Makes a namespace of Pod Security "restricted", whose warnings Helm and kubectl print. */
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

/**
 * Gives pods the states that a kubelet would: those that run once succeed, or fail if `fails` is set; others become ready, if
 * `readies` is.
 */
function startKubelet(
  kubectl: (...args: string[]) => Promise<string>,
  get: <T>(...args: string[]) => Promise<T>,
) {
  const controls = { fails: false, readies: true };
  let isStopped = false;
  const statusOf = ({ spec: { restartPolicy } }: Pod) => {
    if (restartPolicy === 'Never') return { phase: controls.fails ? 'Failed' : 'Succeeded' };
    if (!controls.readies) return { phase: 'Running' };
    const conditions = ['Ready', 'ContainersReady'].map((type) => ({ type, status: 'True' }));
    return { phase: 'Running', conditions };
  };
  const pass = async () => {
    const { items } = await get<{ items: Pod[] }>('pods', '--all-namespaces');
    for (const pod of items) {
      const { name, namespace } = pod.metadata;
      if (pod.status.phase !== 'Pending') continue;
      const patch = JSON.stringify({ status: statusOf(pod) });
      const args = ['patch', 'pod', name, '--namespace', namespace, '--subresource=status', '--patch', patch];
      // Its owner may have deleted it meanwhile.
      await kubectl(...args).catch(() => undefined);
    }
  };
  const running = (async () => {
    while (!isStopped) {
      await pass().catch(() => undefined);
      await sleep(200);
    }
  })();
  const stop = async () => {
    isStopped = true;
    await running;
  };
  return Object.assign(controls, { stop });
}
