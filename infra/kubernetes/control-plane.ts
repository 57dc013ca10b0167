import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { acceptsConnections, freePorts } from '../dev-servers/native/ports.ts';
import { run } from '../dev-servers/native/run.ts';
import { type ServerProcess, startServer } from '../dev-servers/native/server.ts';

/** A running API server, and how to reach it. */
export type ControlPlane = { kubeconfig: string; kubectl: string; close: () => Promise<void> };

/** The bearer token of the administrator. */
const token = 'control-plane';

/**
 * Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback ports, with their data and keys
 * in `folder`. Nodes are objects without a kubelet: the scheduler places the pods of Deployments and Jobs, but no pod
 * runs.
 */
export async function startControlPlane(programs: string, folder: string): Promise<ControlPlane> {
  const [clientPort = 0, peerPort = 0, apiPort = 0, controllersPort = 0, schedulerPort = 0] =
    await freePorts(5);
  const writeFile = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const { publicKey, privateKey } = createKeyPair();
  const keyFile = writeFile('service-accounts.key', privateKey);
  const kubeconfig = writeFile('kubeconfig', JSON.stringify(kubeconfigOf(`https://127.0.0.1:${apiPort}`)));
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
  const isApiReady = async () =>
    (await run(kubectl, ['--kubeconfig', kubeconfig, 'get', '--raw', '/readyz'])).ok;
  const server = await startServer([
    programProcess('etcd', etcdArguments(folder, clientPort, peerPort), () => acceptsConnections(clientPort)),
    programProcess(
      'kube-apiserver',
      [
        `--etcd-servers=http://127.0.0.1:${clientPort}`,
        `--bind-address=127.0.0.1`,
        `--secure-port=${apiPort}`,
        `--cert-dir=${join(folder, 'certificates')}`,
        `--token-auth-file=${writeFile('tokens.csv', `${token},admin,admin,"system:masters"\n`)}`,
        '--authorization-mode=RBAC',
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${writeFile('service-accounts.pub', publicKey)}`,
        `--service-account-signing-key-file=${keyFile}`,
        '--service-cluster-ip-range=10.0.0.0/24',
      ],
      isApiReady,
    ),
    controller(
      'kube-controller-manager',
      controllersPort,
      `--service-account-private-key-file=${keyFile}`,
      // No kubelet reports the nodes as alive, so the node-lifecycle controller would evict their pods.
      '--controllers=*,-node-lifecycle-controller',
    ),
    controller('kube-scheduler', schedulerPort),
  ]);
  return { kubeconfig, kubectl, close: () => server.stop() };
}

const createKeyPair = () =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });

const etcdArguments = (folder: string, clientPort: number, peerPort: number) => [
  `--data-dir=${join(folder, 'etcd')}`,
  `--listen-client-urls=http://127.0.0.1:${clientPort}`,
  `--advertise-client-urls=http://127.0.0.1:${clientPort}`,
  `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
  `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
  `--initial-cluster=default=http://127.0.0.1:${peerPort}`,
  // The data need not survive a crash, because every test starts a new cluster.
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
