import { setTimeout as delay } from 'node:timers/promises';
import { startStack } from '../dev-servers/stack.ts';
import { connectDemo, type DemoConnections } from './connections.ts';
import { createCertificates, type Certificates } from './certificates.ts';
import { generateSampleData, type SampleData, type Size } from '../sample-data/sample-data.ts';
import { publishSampleData } from '../sample-data/publish.ts';
import { untilCaughtUp } from './lag.ts';
import { produceLiveTraffic } from './live-traffic.ts';
import type { Output } from './output.ts';
import { ask, showTour, type Access } from './requests.ts';
import type { RunFolder } from './run-folder.ts';
import { showRebuild } from './rebuild.ts';
import { logged, startService, tailOf, type Script, type Service } from './service.ts';

export type Demo = {
  options: { size: Size; seed: number; rebuild: boolean };
  output: Output;
  folder: RunFolder;
  /** Aborted when the user stops the demo, or the demo has failed. */
  stopping: AbortSignal;
  /** The end of the demo calls `close`, in reverse order of the registrations. */
  onEnd: (name: string, close: () => Promise<unknown>) => void;
  /** Registers a process that a second Ctrl-C has to kill. */
  onKill: (kill: () => void) => void;
};

const projectorScript = 'services/projector/main.ts';
/** The maximum time until the API serves the documents, in milliseconds. */
const readyWithinMs = 30_000;
/** The maximum time that a stop waits for servers that are still starting, in milliseconds. */
const startGraceMs = 5_000;

/** Runs the demo until `stopping`. Rejects if a step fails or a service exits. */
export async function runDemo(demo: Demo): Promise<void> {
  const { options, output } = demo;
  const startedAt = performance.now();
  const [connections, certificates] = await Promise.all([
    startServers(demo),
    createCertificates(demo.folder.path),
  ]);
  demo.onEnd("the demo's connections", connections.close);
  const { environment } = connections;
  const ended = Promise.withResolvers<never>();
  const mayEnd = new Set<Service>();
  const start = (...service: [name: string, script: string, environment: Record<string, string>]) => {
    const started = startDemoService(demo, ...service);
    failWhenEnded(demo, started, mayEnd).catch(ended.reject);
    return started;
  };
  const projector = start('projector', projectorScript, environment);
  const api = start('api', 'services/api/main.ts', { ...environment, ...apiSettings(certificates) });
  const rebuild = (access: Access) =>
    showRebuild({
      output,
      environment,
      access,
      api,
      keep: (started) => keep(demo, 'the command', started),
      onDrop: () => void mayEnd.add(projector),
      startProjector: (generation) =>
        start(`projector-${generation}`, projectorScript, { ...environment, GENERATION: `${generation}` }),
      oldProjector: projector,
    });
  const present = async () => {
    const sampleData = generateSampleData({ seed: options.seed, size: options.size });
    await publishAndWait(connections, sampleData, output);
    const access = await untilServed(sampleData, api, certificates);
    output.say(`Ready after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s.\n`);
    output.always(`API key: ${access.token}`);
    await showTour(access, output);
    output.say('\nPublishing live changes. Ctrl-C stops everything.');
    const watcher = { ...access, token: tokenOf(sampleData, 'Data warehouse') };
    await produceLiveTraffic(
      { connections, access: watcher, output, stopping: demo.stopping },
      sampleData.state,
      async () => (options.rebuild ? rebuild(access) : undefined),
    );
  };
  await Promise.race([present(), ended.promise]);
}

async function startServers({ output, folder, onEnd, onKill }: Demo): Promise<DemoConnections> {
  const starting = startStack({ report: output.say, dataDir: folder.servers });
  onEnd('the servers', async () => {
    const stack = await Promise.race([starting.catch(() => null), delay(startGraceMs, null)]);
    await stack?.stop();
  });
  const stack = await starting;
  for (const { pid } of stack.handles.processes) onKill(() => void process.kill(pid, 'SIGKILL'));
  output.say(`Kafka ${stack.kafkaBrokers}, store ${stack.mongodbUrl} (${stack.how})`);
  return connectDemo(stack);
}

function startDemoService(
  demo: Demo,
  name: string,
  script: string,
  environment: Record<string, string>,
): Service {
  const logFile = demo.folder.log(name);
  const started = startService(name, script, { environment, logFile });
  keep(demo, name, started);
  demo.output.say(`Started ${name}, log: ${logFile}`);
  return started;
}

/** Stops the process with the demo. */
function keep({ onEnd, onKill }: Demo, name: string, { stop, kill }: Script): void {
  onEnd(name, stop);
  onKill(kill);
}

const apiSettings = ({ certificate, key }: Certificates) => ({
  API_HOST: '127.0.0.1',
  API_PORT: '0',
  SHUTDOWN_DELAY_SECONDS: '0',
  API_TLS_CERT: certificate,
  API_TLS_KEY: key,
});

/** Rejects if the service exits before the demo stops, and may not end yet. Never resolves otherwise. */
async function failWhenEnded(
  { stopping }: Demo,
  service: Service,
  mayEnd: ReadonlySet<Service>,
): Promise<never> {
  const { name, logFile, ended } = service;
  const how = await ended;
  if (stopping.aborted || mayEnd.has(service)) return new Promise(() => undefined);
  throw new Error(`The ${name} has exited (${how}). Its log ends with:\n${tailOf(logFile, 15).join('\n')}`);
}

async function publishAndWait(
  connections: DemoConnections,
  sampleData: SampleData,
  output: Output,
): Promise<void> {
  const step = 'Publishing sample data';
  const sent = await publishSampleData(connections, sampleData.batches, ({ progress }) =>
    output.progress(step, progress),
  );
  output.say(
    `Published ${sent.toLocaleString('en')} events, with each of Kafka's compression codecs in turn`,
  );
  await untilCaughtUp(connections, (done) => output.progress('Projecting events', done));
}

/** Waits until the API serves documents. Returns access to it for a client that trusts the demo's authority. */
async function untilServed(
  sampleData: SampleData,
  api: Service,
  { authority }: Certificates,
): Promise<Access> {
  const { port } = await logged(api, 'listening');
  const access = {
    baseUrl: `https://localhost:${Number(port)}`,
    authority,
    token: tokenOf(sampleData, 'Reporting'),
  };
  const deadline = performance.now() + readyWithinMs;
  for (;;) {
    const { status, body } = await ask(access, '/v1/channels?limit=1');
    if (status === 200) return access;
    if (performance.now() > deadline) throw new Error(`The API is not ready: ${status} ${body}`);
    await delay(200);
  }
}

/** The token of the first API key with this name, which belongs to the first organization. */
const tokenOf = ({ apiKeys }: SampleData, name: string) =>
  apiKeys.find((key) => key.name === name)?.token ?? '';
