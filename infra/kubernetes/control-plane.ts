import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { acceptsConnections, freePorts } from '../dev-servers/native/ports.ts';
import { run } from '../dev-servers/native/run.ts';
import { type ServerProcess, startServer } from '../dev-servers/native/server.ts';

/** A running API server, and how to reach it. */
export type ControlPlane = { kubeconfig: string; kubectl: string; close: () => Promise<void> };

const token = 'control-plane';

/**
 * Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback ports, with their data and keys
 * in `folder`. Nodes are objects without a kubelet: the scheduler places the pods of Deployments and Jobs, but no pod
 * runs.
 */
export async function startControlPlane(programs: string, folder: string): Promise<ControlPlane> {
  const [client = 0, peer = 0, api = 0, controllers = 0, scheduler = 0] = await freePorts(5);
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const key = file('service-accounts.key', privateKey);
  const kubeconfig = file('kubeconfig', JSON.stringify(kubeconfigOf(`https://127.0.0.1:${api}`)));
  const kubectl = join(programs, 'kubectl');
  const programProcess = (name: string, args: string[], ready: ServerProcess['ready']): ServerProcess => ({
    command: {
      name,
      argv: [join(programs, name), ...args],
      cwd: folder,
      logFile: join(folder, `${name}.log`),
      stopSignal: 'SIGTERM',
    },
    ready,
  });
  const controller = (name: string, port: number, ...args: string[]) =>
    programProcess(
      name,
      [`--kubeconfig=${kubeconfig}`, `--secure-port=${port}`, '--leader-elect=false', ...args],
      () => acceptsConnections(port),
    );
  const serves = async () => (await run(kubectl, ['--kubeconfig', kubeconfig, 'get', '--raw', '/readyz'])).ok;
  const server = await startServer([
    programProcess('etcd', etcdArguments(folder, client, peer), () => acceptsConnections(client)),
    programProcess(
      'kube-apiserver',
      [
        `--etcd-servers=http://127.0.0.1:${client}`,
        `--bind-address=127.0.0.1`,
        `--secure-port=${api}`,
        `--cert-dir=${join(folder, 'certificates')}`,
        `--token-auth-file=${file('tokens.csv', `${token},admin,admin,"system:masters"\n`)}`,
        '--authorization-mode=RBAC',
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${file('service-accounts.pub', publicKey)}`,
        `--service-account-signing-key-file=${key}`,
        '--service-cluster-ip-range=10.0.0.0/24',
      ],
      serves,
    ),
    controller(
      'kube-controller-manager',
      controllers,
      `--service-account-private-key-file=${key}`,
      // This controller would evict the pods of nodes that no kubelet reports.
      '--controllers=*,-node-lifecycle-controller',
    ),
    controller('kube-scheduler', scheduler),
  ]);
  return { kubeconfig, kubectl, close: () => server.stop() };
}

const etcdArguments = (folder: string, client: number, peer: number) => [
  `--data-dir=${join(folder, 'etcd')}`,
  `--listen-client-urls=http://127.0.0.1:${client}`,
  `--advertise-client-urls=http://127.0.0.1:${client}`,
  `--listen-peer-urls=http://127.0.0.1:${peer}`,
  `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
  `--initial-cluster=default=http://127.0.0.1:${peer}`,
  // Nothing of this cluster outlives its test.
  '--unsafe-no-fsync',
];

const kubeconfigOf = (server: string) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'test', cluster: { server, 'insecure-skip-tls-verify': true } }],
  users: [{ name: 'admin', user: { token } }],
  contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
  'current-context': 'test',
});
