import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { startStack } from '../dev-servers/stack.ts';
import { startService, type Service } from '../service.ts';
import { connectDemo, type DemoConnections } from './connections.ts';
import { createCertificates, type Certificates } from './certificates.ts';
import { generateSampleData, type SampleData, type Size } from '../sample-data/sample-data.ts';
import { publishSampleData } from '../sample-data/publish.ts';
import { untilCaughtUp } from './lag.ts';
import { produceLiveTraffic } from './live-traffic.ts';
import type { Output } from './output.ts';
import { ask, showTour, type Access } from './requests.ts';
import type { RunFolder } from './run-folder.ts';
import { exitText, showRebuild } from './rebuild.ts';

type Demo = {
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

/** The maximum time until the API serves the documents, in milliseconds. */
const readyWithinMs = 30_000;
/** The time that a service has to stop before it is killed, in milliseconds. */
const stopGraceMs = 15_000;
/** The lines of a service's log that the demo keeps. The file has all. */
const linesMax = 1_000;
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
  const start = (
    service: 'api' | 'projector' | 'console',
    settings: Record<string, string>,
    name: string = service,
  ) => {
    const started = startDemoService(demo, name, service, { ...environment, ...settings });
    failWhenEnded(demo, name, started, mayEnd).catch(ended.reject);
    return started;
  };
  const projector = start('projector', {});
  const api = start('api', apiSettings(certificates));
  const console = start('console', { CONSOLE_PORT: '0' });
  const rebuild = (access: Access) =>
    showRebuild({
      output,
      environment,
      access,
      api,
      keep: (command) => keep(demo, 'the command', command),
      onDrop: () => void mayEnd.add(projector),
      startProjector: (generation) =>
        start('projector', { GENERATION: `${generation}` }, `projector-${generation}`),
      oldProjector: projector,
    });
  const present = async () => {
    const sampleData = generateSampleData({ seed: options.seed, size: options.size });
    await publishAndWait(connections, sampleData, output);
    const access = await untilServed(sampleData, api, certificates);
    output.say(`Ready after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s.\n`);
    output.always(`API key: ${access.token}`);
    output.always(`Console for operators: ${String((await console.logged('listening')).url)}`);
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
  service: 'api' | 'projector' | 'console',
  environment: Record<string, string>,
): Service {
  const logFile = demo.folder.log(name);
  const onLine = (line: string) => appendFileSync(logFile, `${line}\n`);
  const started = startService(service, environment, [], { onLine, linesMax, ownGroup: true });
  keep(demo, name, started);
  demo.output.say(`Started ${name}, log: ${logFile}`);
  return started;
}

/** Stops the process with the demo. */
function keep({ onEnd, onKill }: Demo, name: string, { stop }: Service): void {
  onEnd(name, async () => {
    const late = delay(stopGraceMs, 'late', { ref: false });
    if ((await Promise.race([stop(), late])) === 'late') await stop('SIGKILL');
  });
  onKill(() => void stop('SIGKILL'));
}

const apiSettings = ({ certificate, key }: Certificates) => ({
  API_HOST: '127.0.0.1',
  API_PORT: '0',
  API_TLS_CERT: certificate,
  API_TLS_KEY: key,
});

/** Rejects if the service exits before the demo stops, and may not end yet. Never resolves otherwise. */
async function failWhenEnded(
  { stopping, folder }: Demo,
  name: string,
  service: Service,
  mayEnd: ReadonlySet<Service>,
): Promise<never> {
  const how = exitText(await service.exited);
  if (stopping.aborted || mayEnd.has(service)) return new Promise(() => undefined);
  const tail = readFileSync(folder.log(name), 'utf8').trimEnd().split('\n').slice(-15).join('\n');
  throw new Error(`The ${name} has exited (${how}). Its log ends with:\n${tail}`);
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
  const { port } = await api.logged('listening');
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
