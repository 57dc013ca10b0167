import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startAgainCode } from '../../services/projector/wall-clock.ts';
import { startStack } from '../dev-servers/stack.ts';
import { liveChange } from '../sample-data/live-changes.ts';
import { publishRecords, publishSampleData } from '../sample-data/publish.ts';
import {
  batchesOf,
  generateSampleData,
  recordsOf,
  type SampleState,
  type Size,
} from '../sample-data/sample-data.ts';
import { startService, type Service } from '../service.ts';
import { connect, createCertificate, readProgress, type Connections } from './servers.ts';
import { ask, showRebuild, showTour, type Access, type Output } from './tour.ts';

export type Demo = Output & {
  options: { size: Size; seed: number; rebuild: boolean };
  folder: string;
  /** Aborted when the user stops the demo, or the demo has failed. */
  stopping: AbortSignal;
  /** Ends all processes and connections of the demo, the last one first. */
  closers: AsyncDisposableStack;
  /** Kill the processes of the demo. */
  kills: (() => void)[];
};

/** The time that a service has to stop before it is killed. */
const stopGraceMs = 15_000;
const [changesPerTurn, turnMs] = [5, 250];

/** Runs the demo until `stopping`. Rejects if a step fails or a service exits. */
export async function runDemo(demo: Demo): Promise<void> {
  const { options, always, say, folder, stopping } = demo;
  const startedAt = performance.now();
  const [connections, certificate] = await Promise.all([startServers(demo), createCertificate(folder)]);
  demo.closers.defer(connections.close);
  const ended = Promise.withResolvers<never>();
  const mayEnd = new Set<Service>();
  type Name = 'api' | 'projector' | 'console';
  const start = (service: Name, settings: Record<string, string>, name: string = service) => {
    const logFile = join(folder, `${name}.log`);
    // A service that ends at once has logged nothing.
    writeFileSync(logFile, '');
    const onLine = (line: string) => appendFileSync(logFile, `${line}\n`);
    const environment = { ...connections.environment, ...settings };
    const started = startService(service, environment, [], { onLine, linesMax: 1_000, ownGroup: true });
    keep(demo, started);
    say(`Started ${name}, log: ${logFile}`);
    void started.exited.then((how) => {
      if (stopping.aborted || mayEnd.has(started)) return;
      if (how === startAgainCode) return void start(service, settings, name);
      const tail = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
      ended.reject(new Error(`The ${name} has exited (${how}). Its log ends with:\n${tail}`));
    });
    return started;
  };
  const projector = start('projector', {});
  const api = start('api', { API_HOST: '127.0.0.1', API_PORT: '0', ...certificate.settings });
  const console = start('console', { CONSOLE_PORT: '0' });
  const present = async () => {
    const sampleData = generateSampleData(options);
    const tokenOf = (wanted: string) => sampleData.apiKeys.find(({ name }) => name === wanted)?.token ?? '';
    await publishAndWait(connections, batchesOf(sampleData), say);
    const { port } = await api.logged('listening');
    const baseUrl = `https://localhost:${Number(port)}`;
    const access = { baseUrl, certificate: certificate.certificate, token: tokenOf('Reporting') };
    await api.logged('ready');
    say(`Ready after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s.\n`);
    always(`API key: ${access.token}`);
    always(`Console for operators: ${String((await console.logged('listening')).url)}`);
    await showTour(access, demo);
    say('\nPublishing live changes. Ctrl-C stops everything.');
    const rebuild = async () =>
      showRebuild(demo, access, {
        environment: connections.environment,
        keep: (command) => keep(demo, command),
        startProjector: (generation) =>
          start('projector', { GENERATION: `${generation}` }, `projector-${generation}`),
        mayEnd: () => void mayEnd.add(projector),
      });
    const watcher = { ...access, token: tokenOf('Data warehouse') };
    const before = options.rebuild ? rebuild() : Promise.resolve();
    await showLive(connections, watcher, demo, sampleData.state, before);
  };
  await Promise.race([present(), ended.promise]);
}

async function startServers({ say, folder, closers }: Demo): Promise<Connections> {
  const stack = await startStack({ report: say, dataDir: join(folder, 'servers') });
  closers.defer(() => stack.stop());
  say(`Kafka ${stack.kafkaBrokers}, store ${stack.mongodbUrl} (${stack.how})`);
  return connect(stack);
}

/** Stops the process with the demo, and kills it if the demo ends without that. */
function keep({ closers, kills }: Demo, { stop }: Service): void {
  kills.push(() => void stop('SIGKILL'));
  closers.defer(async () => {
    const late = delay(stopGraceMs, 'late', { ref: false });
    if ((await Promise.race([stop(), late])) === 'late') await stop('SIGKILL');
  });
}

type Batches = ReturnType<typeof batchesOf>;

async function publishAndWait(connections: Connections, batches: Batches, say: Demo['say']): Promise<void> {
  let quarter = -1;
  const report = (step: string, done: number) => {
    if (Math.floor(done * 4) !== quarter) say(`${step}: ${Math.floor(done * 100)} %`);
    quarter = Math.floor(done * 4);
  };
  const sent = await publishSampleData(connections, batches, (done) =>
    report('Publishing sample data', done),
  );
  say(`Published ${sent.toLocaleString('en')} events, with each of Kafka's compression codecs in turn`);
  for (;;) {
    const { records, lag } = await readProgress(connections);
    report('Projecting events', 1 - lag / records);
    if (lag === 0) return;
    await delay(turnMs);
  }
}

/** Publishes live changes; once `before` has ended, prints a line each second about their way to the API. */
async function showLive(
  connections: Connections,
  access: Access,
  demo: Demo,
  state: SampleState,
  before: Promise<void>,
) {
  const { say, stopping } = demo;
  let published = 0;
  const publish = async () => {
    for (; !stopping.aborted; await delay(turnMs)) {
      const events = Array.from({ length: changesPerTurn }, () => liveChange(state, new Date())).flat();
      const records = events.flatMap((event) => recordsOf(state.random, event));
      await publishRecords(connections, records);
      published += records.length;
    }
  };
  const watch = async () => {
    await before;
    for (let [last, at] = [published, performance.now()]; !stopping.aborted;) {
      await delay(1_000);
      const perSecond = ((published - last) / (performance.now() - at)) * 1_000;
      [last, at] = [published, performance.now()];
      const [{ lag, documents }, asOf] = await Promise.all([
        readProgress(connections),
        ask(access, '/v1/channels?limit=1').then(
          ({ dataAsOf }) => dataAsOf,
          () => null,
        ),
      ]);
      const age = asOf
        ? `${asOf} (${((Date.now() - Date.parse(asOf)) / 1_000).toFixed(1)} s old)`
        : 'unknown';
      const counts = `${Math.round(perSecond)} events/s  lag ${lag}  ${documents.toLocaleString('en')} documents`;
      if (!stopping.aborted) say(`${new Date().toISOString().slice(11, 19)}  ${counts}  Data-As-Of ${age}`);
    }
  };
  await Promise.all([publish(), watch()]);
}
