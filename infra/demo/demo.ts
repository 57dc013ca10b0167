import { setTimeout as delay } from 'node:timers/promises';
import { startStack } from '../dev-servers/stack.ts';
import type { DemoOptions } from './arguments.ts';
import { connectKafkaTopics, type KafkaTopics } from './kafka-topics.ts';
import { createCertificates, type Certificates } from './certificates.ts';
import type { Closers } from './closers.ts';
import { generateSampleData, type SampleData } from '../sample-data/sample-data.ts';
import { publishSampleData } from '../sample-data/publish.ts';
import { untilCaughtUp } from './lag.ts';
import { produceLiveTraffic } from './live-traffic.ts';
import type { Output } from './output.ts';
import { ask, type Access } from './request.ts';
import type { RunFolder } from './run-folder.ts';
import { logged, startService, tailOf, type Service } from './service.ts';
import { showTour } from './tour.ts';

export type Demo = {
  options: DemoOptions;
  output: Output;
  folder: RunFolder;
  closers: Closers;
  /** Aborted when the demo is told to stop, or has failed. */
  stopping: AbortSignal;
  /** Told of everything that a second Ctrl-C has to kill. */
  onStarted: (killable: { kill: () => void }) => void;
};

/** How long the API may take to serve the generation, in milliseconds. */
const readyWithinMs = 30_000;
/** How long an unfinished start of the servers holds up the end, in milliseconds. */
const startGraceMs = 5_000;

/** Runs the demo until `stopping`; rejects when a step fails or a service ends by itself. */
export async function runDemo(demo: Demo): Promise<void> {
  const { options, output, closers } = demo;
  const startedAt = performance.now();
  const [kafkaTopics, certificates] = await Promise.all([
    startKafkaTopics(demo),
    createCertificates(demo.folder.path),
  ]);
  closers.add('the connections of the demo', kafkaTopics.close);
  const projector = service(demo, 'projector', kafkaTopics.environment);
  const api = service(demo, 'api', { ...kafkaTopics.environment, ...apiSettings(certificates) });
  const ended = Promise.race([projector, api].map((one) => failWhenEnded(demo, one)));
  const story = async () => {
    const sampleData = generateSampleData({ seed: options.seed, size: options.size });
    await fill(kafkaTopics, sampleData, output);
    const access = await untilServed(sampleData, api, certificates);
    output.say(`Ready after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s.\n`);
    output.tell(`API key: ${access.token}`);
    await showTour(access, output);
    output.say('\nLive changes follow; Ctrl-C stops everything.');
    const watcher = { ...access, token: tokenOf(sampleData, 'Data warehouse') };
    await produceLiveTraffic(
      { kafkaTopics, access: watcher, output, stopping: demo.stopping },
      sampleData.state,
    );
  };
  await Promise.race([story(), ended]);
}

async function startKafkaTopics({ output, folder, closers, onStarted }: Demo): Promise<KafkaTopics> {
  const starting = startStack({ report: output.say, dataDir: folder.servers });
  closers.add('the servers', async () => {
    const stack = await Promise.race([starting.catch(() => null), delay(startGraceMs, null)]);
    await stack?.stop();
  });
  const stack = await starting;
  for (const { pid } of stack.handles.processes) onStarted({ kill: () => void process.kill(pid, 'SIGKILL') });
  output.say(`Kafka ${stack.kafkaBrokers}, store ${stack.mongodbUrl} (${stack.how})`);
  return connectKafkaTopics(stack);
}

function service(demo: Demo, name: 'projector' | 'api', environment: Record<string, string>): Service {
  const logFile = demo.folder.log(name);
  const started = startService(name, `services/${name}/main.ts`, { environment, logFile });
  demo.closers.add(name, started.stop);
  demo.onStarted(started);
  demo.output.say(`Started ${name}; its log: ${logFile}`);
  return started;
}

const apiSettings = ({ certificate, key }: Certificates) => ({
  API_HOST: '127.0.0.1',
  API_PORT: '0',
  API_TLS_CERT: certificate,
  API_TLS_KEY: key,
});

/** Rejects when the service ends before the demo stops; then it never settles. */
async function failWhenEnded({ stopping }: Demo, { name, logFile, ended }: Service): Promise<never> {
  const how = await ended;
  if (stopping.aborted) return new Promise(() => undefined);
  throw new Error(`The ${name} ended by itself (${how}). Its log ends:\n${tailOf(logFile, 15).join('\n')}`);
}

async function fill(kafkaTopics: KafkaTopics, sampleData: SampleData, output: Output): Promise<void> {
  const step = 'Publishing the desk';
  const sent = await publishSampleData(kafkaTopics, sampleData.batches, ({ progress }) =>
    output.progress(step, progress),
  );
  output.say(`Published ${sent.toLocaleString('en')} events, compressed with every codec in turn`);
  await untilCaughtUp(kafkaTopics, (done) => output.progress('Projecting', done));
}

/** The API as seen from a client that trusts the demo's authority, once it answers from the documents. */
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

/** The token of the first organization's key of that name. */
const tokenOf = ({ apiKeys }: SampleData, name: string) =>
  apiKeys.find((key) => key.name === name)?.token ?? '';
