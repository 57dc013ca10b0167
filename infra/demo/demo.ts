import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { startAgainCode } from '../../services/projector/wall-clock.ts';
import { writeApiCertificate } from '../certificate.ts';
import { startStack } from '../dev-servers/stack.ts';
import { liveChange } from '../sample-data/live-changes.ts';
import { keyLines } from '../sample-data/organization.ts';
import { publishRecords, publishSampleData } from '../sample-data/publish.ts';
import type { SampleData, SampleState, Size } from '../sample-data/sample-data.ts';
import { batchesOf, generateSampleData, recordsOf } from '../sample-data/sample-data.ts';
import { type Service, startService } from '../service.ts';
import { connect, type Connections, readProgress } from './servers.ts';
import { type Access, ask, type Output, showCommand, showRebuild, showTour } from './tour.ts';

type Demo = Output & {
  options: { size: Size; seed: number; rebuild: boolean };
  folder: string;
  /** Aborted when the user stops the demo, or the demo has failed. */
  stopping: AbortSignal;
  /** Ends all processes and connections of the demo, the last one first. */
  closers: AsyncDisposableStack;
};

/** The time that a service has to stop before the demo kills it. */
const stopGraceMs = 15_000;
const changesPerRound = 5;
const roundMs = 250;
/** The time without progress after which the demo prints the cause, in milliseconds. */
const stalledAfterMs = 10_000;

/** Runs the demo until `stopping`. Rejects if a step fails or a service exits. */
export async function runDemo(demo: Demo): Promise<void> {
  const { options, print, report, folder, closers } = demo;
  const startedAt = performance.now();
  const stack = await startStack({ report, dataDir: join(folder, 'servers') });
  closers.defer(() => stack.stop());
  report(`Kafka at ${stack.kafkaBrokers} (${stack.how.kafka})`);
  report(`${stack.store} at ${stack.mongodbUrl} (${stack.how.store})`);
  const { cert, settings: tls } = await writeApiCertificate(folder);
  const connections = await connect(stack);
  setDefaultCACertificates([...getCACertificates(), cert]);
  closers.defer(connections.close);
  const { environment } = connections;
  const ended = Promise.withResolvers<never>();
  /** Services whose end is part of the demo. */
  const mayEnd = new Set<Service>();
  const start = (
    service: 'api' | 'projector' | 'console',
    settings: Record<string, string>,
    name = service as string,
  ) => {
    const logFile = join(folder, `${name}.log`);
    const limits = { onLine: lineWriter(logFile), linesMax: 1_000, ownGroup: true };
    const started = startService(service, { ...environment, ...settings }, [], limits);
    process.once('exit', () => void started.stop('SIGKILL'));
    closers.defer(() => started.stop('SIGTERM', stopGraceMs).then(() => undefined));
    report(`Started ${name}, log: ${logFile}`);
    void started.exited.then((code) => {
      if (demo.stopping.aborted || mayEnd.has(started)) return;
      if (code === startAgainCode) start(service, settings, name);
      else ended.reject(exitError(name, code, started));
    });
    return started;
  };
  const projector = start('projector', { GENERATION: '1' });
  const api = start('api', { API_HOST: '127.0.0.1', API_PORT: '0', ...tls });
  const console = start('console', { CONSOLE_PORT: '0' });
  const runSteps = async () => {
    const sampleData = generateSampleData(options);
    const tokenOf = (wanted: string) => sampleData.apiKeys.find(({ name }) => name === wanted)?.token ?? '';
    await publishAndWait(connections, sampleData, demo);
    const baseUrl = `https://localhost:${Number((await api.logged('listening')).port)}`;
    const access = { baseUrl, certificate: tls.API_TLS_CERT, token: tokenOf('Reporting') };
    await api.logged('ready');
    report(`Ready after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s.\n`);
    keyLines(sampleData.apiKeys).forEach(print);
    print(`Console for operators: ${String((await console.logged('listening')).url)}`);
    await showTour(access, demo);
    report('\nPublishing live changes. Ctrl-C stops everything.');
    const startProjector = (number: number) =>
      start('projector', { GENERATION: `${number}` }, `projector-${number}`);
    const rebuild = { environment, startProjector, mayEnd: () => void mayEnd.add(projector) };
    await Promise.all([
      publishLive(connections, sampleData.state, demo.stopping),
      (options.rebuild ? showRebuild(demo, access, rebuild) : Promise.resolve()).then(() =>
        showLive(connections, { ...access, token: tokenOf('Data warehouse') }, demo),
      ),
    ]);
  };
  await Promise.race([runSteps(), ended.promise]);
}

/** The error of a service that has exited, with the end of its log. */
function exitError(name: string, code: number | string, { stdout, stderr }: Service): Error {
  const lines = `${stdout()}\n${stderr()}`.trimEnd().split('\n').slice(-15);
  return new Error(`The ${name} has exited (${code}). Its log ends with:\n${lines.join('\n')}`);
}

/** Creates a file, and returns the function that appends a line to it. */
function lineWriter(file: string) {
  appendFileSync(file, '');
  return (line: string) => appendFileSync(file, `${line}\n`);
}

async function publishAndWait(connections: Connections, sampleData: SampleData, { report, print }: Demo) {
  let quarter = -1;
  const reportProgress = (step: string) => (done: number) => {
    if (Math.floor(done * 4) !== quarter) report(`${step}: ${Math.floor(done * 100)} %`);
    quarter = Math.floor(done * 4);
  };
  const recordCount = await publishSampleData(
    connections,
    batchesOf(sampleData),
    reportProgress('Publishing sample data'),
  );
  report(
    `Published ${recordCount.toLocaleString('en')} events, with each of Kafka's compression codecs in turn`,
  );
  let lowest = Infinity;
  let stalledAt = 0;
  for (;;) {
    const { records, lag } = await readProgress(connections);
    reportProgress('Projecting events')(1 - lag / records);
    if (lag === 0) return;
    if (lag < lowest) {
      lowest = lag;
      stalledAt = performance.now() + stalledAfterMs;
    }
    if (performance.now() > stalledAt) {
      print(`No progress for ${stalledAfterMs / 1_000} s. The cause:`);
      await showCommand({ report: print, print }, connections.environment, ['status']);
      // The demo prints the cause once for each stall.
      stalledAt = Infinity;
    }
    await delay(roundMs);
  }
}

async function publishLive(connections: Connections, state: SampleState, stopping: AbortSignal) {
  for (; !stopping.aborted; await delay(roundMs)) {
    const events = Array.from({ length: changesPerRound }, () => liveChange(state, new Date())).flat();
    const records = events.flatMap((event) => recordsOf(state.random, event));
    await publishRecords(connections, records);
  }
}

/** Prints a line each second that shows how far the changes have come on their way to the API. */
async function showLive(connections: Connections, access: Access, { report, stopping }: Demo) {
  let previousRecords = (await readProgress(connections)).records;
  let previousMs = performance.now();
  while (!stopping.aborted) {
    await delay(1_000);
    const { records, lag, documents } = await readProgress(connections);
    const perSecond = ((records - previousRecords) / (performance.now() - previousMs)) * 1_000;
    previousRecords = records;
    previousMs = performance.now();
    const asOf = (await ask(access, '/v1/channels?limit=1').catch(() => null))?.dataAsOf;
    const age = asOf ? `${asOf} (${((Date.now() - Date.parse(asOf)) / 1_000).toFixed(1)} s old)` : 'unknown';
    const counts = `${Math.round(perSecond)} events/s  lag ${lag}  ${documents.toLocaleString('en')} documents`;
    if (!stopping.aborted) report(`${new Date().toISOString().slice(11, 19)}  ${counts}  Data-As-Of ${age}`);
  }
}
