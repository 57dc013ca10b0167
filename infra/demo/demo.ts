import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { restartExitCode } from '../../services/projector/wall-clock.ts';
import { writeApiCertificate } from '../certificate.ts';
import { startStack } from '../dev-servers/stack.ts';
import { liveChange } from '../sample-data/live-changes.ts';
import { keyLines } from '../sample-data/organization.ts';
import { publishRecords, publishSampleData } from '../sample-data/publish.ts';
import type { SampleData, SampleState, Size } from '../sample-data/sample-data.ts';
import { batchesOf, generateSampleData, recordsOf } from '../sample-data/sample-data.ts';
import { type Service, startService } from '../service.ts';
import { connect, type Connections, readProgress } from './servers.ts';
import { type Access, ask, type Output, type Rebuild, showCommand, showRebuild, showTour } from './tour.ts';

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
/** The live changes in a round. With 4 rounds a second, the demo publishes at most 20 changes a second. */
const changesPerRound = 5;
/** The time between two rounds, in milliseconds. */
const roundMs = 250;
/** The time between two readings of the progress, in milliseconds. */
const pollMs = 250;
/** The time without progress after which the demo prints the cause, in milliseconds. */
const stallMs = 10_000;

/** Runs the demo until `stopping`. Rejects if a step fails or a service exits. */
export async function runDemo(demo: Demo): Promise<void> {
  const { print, report, folder, closers } = demo;
  const startedAt = performance.now();
  const stack = await startStack({ report, dataDir: join(folder, 'servers') });
  closers.defer(() => stack.stop());
  report(`Kafka at ${stack.kafkaBrokers} (${stack.how.kafka})`);
  report(`${stack.store} at ${stack.mongodbUrl} (${stack.how.store})`);
  const { cert, settings: tls } = await writeApiCertificate(folder);
  const connections = await connect(stack);
  setDefaultCACertificates([...getCACertificates(), cert]);
  closers.defer(connections.close);
  const services = createServices(demo, connections.environment);
  const runSteps = async () => {
    const projector = services.start('projector', { GENERATION: '1' });
    const api = services.start('api', { API_HOST: '127.0.0.1', API_PORT: '0', ...tls });
    const operatorConsole = services.start('console', { CONSOLE_PORT: '0' });
    const sampleData = generateSampleData(demo.options);
    await publishAndWait(connections, sampleData, demo);
    const baseUrl = `https://localhost:${Number((await api.logged('listening')).port)}`;
    const access = { baseUrl, certificate: tls.API_TLS_CERT, token: tokenOf(sampleData, 'Reporting') };
    await api.logged('ready');
    report(`Ready after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s.\n`);
    keyLines(sampleData.apiKeys).forEach(print);
    print(`Console for operators: ${String((await operatorConsole.logged('listening')).url)}`);
    await showTour(access, demo);
    report('\nPublishing live changes. Ctrl-C stops everything.');
    const warehouse = { ...access, token: tokenOf(sampleData, 'Data warehouse') };
    const rebuild = rebuildOf(services, connections.environment, projector);
    const showChanges = async () => {
      if (demo.options.rebuild) await showRebuild(demo, access, rebuild);
      await showLive(connections, warehouse, demo);
    };
    await Promise.all([publishLive(connections, sampleData.state, demo.stopping), showChanges()]);
  };
  await Promise.race([runSteps(), services.failure]);
}

const tokenOf = ({ apiKeys }: SampleData, keyName: string): string =>
  apiKeys.find(({ name }) => name === keyName)?.token ?? '';

/** Lets a rebuild start the second projector, and end the first one without a failure of the demo. */
const rebuildOf = (
  { start, expectedToExit }: Services,
  environment: Record<string, string>,
  projector: Service,
): Rebuild => ({
  environment,
  startProjector: (generation) =>
    start('projector', { GENERATION: `${generation}` }, `projector-${generation}`),
  onMayExit: () => void expectedToExit.add(projector),
});

/** The services that the demo runs. */
type Services = {
  /** Starts a service, by default with its kind as its name. */
  start: (kind: 'api' | 'projector' | 'console', settings: Record<string, string>, name?: string) => Service;
  /** Services whose exit is part of the demo. */
  expectedToExit: Set<Service>;
  /** Rejects if any other service exits while the demo runs; never resolves. */
  failure: Promise<never>;
};

function createServices(
  { folder, report, closers, stopping }: Demo,
  environment: Record<string, string>,
): Services {
  const failure = Promise.withResolvers<never>();
  const expectedToExit = new Set<Service>();
  const start: Services['start'] = (kind, settings, name = kind) => {
    const logFile = join(folder, `${name}.log`);
    const options = { onLine: lineWriter(logFile), linesMax: 1_000, ownGroup: true };
    const service = startService(kind, { ...environment, ...settings }, [], options);
    process.once('exit', () => void service.stop('SIGKILL'));
    closers.defer(() => service.stop('SIGTERM', stopGraceMs).then(() => undefined));
    report(`Started ${name}, log: ${logFile}`);
    void service.exited.then((code) => {
      if (stopping.aborted || expectedToExit.has(service)) return;
      // The projector exits with this code to be started again, because the wall clock was set.
      if (code === restartExitCode) start(kind, settings, name);
      else failure.reject(exitError(name, code, service));
    });
    return service;
  };
  return { start, expectedToExit, failure: failure.promise };
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

async function publishAndWait(connections: Connections, sampleData: SampleData, demo: Demo) {
  const { report } = demo;
  const reportProgress = createProgressReporter('Publishing sample data', report);
  const recordCount = await publishSampleData(connections, batchesOf(sampleData), reportProgress);
  const events = recordCount.toLocaleString('en');
  report(`Published ${events} events, with each of Kafka's compression codecs in turn`);
  await waitUntilProjected(connections, demo);
}

/** Returns a function that reports the share of a step that is done, once in each quarter. */
function createProgressReporter(step: string, report: Output['report']) {
  let reportedQuarter = -1;
  return (done: number) => {
    const quarter = Math.floor(done * 4);
    if (quarter !== reportedQuarter) report(`${step}: ${Math.floor(done * 100)} %`);
    reportedQuarter = quarter;
  };
}

/** Waits until every record is applied. Prints the cause of each stall once. */
async function waitUntilProjected(connections: Connections, { report, print }: Demo) {
  const reportProgress = createProgressReporter('Projecting events', report);
  let lowestLag = Infinity;
  let progressAt = performance.now();
  let hasReportedStall = false;
  for (;;) {
    const { records, lag } = await readProgress(connections);
    reportProgress(1 - lag / records);
    if (lag === 0) return;
    if (lag < lowestLag) {
      lowestLag = lag;
      progressAt = performance.now();
      hasReportedStall = false;
    }
    if (performance.now() - progressAt > stallMs && !hasReportedStall) {
      print(`No progress for ${stallMs / 1_000} s. The cause:`);
      // The output of the command is printed even with `--quiet`.
      await showCommand({ report: print, print }, connections.environment, ['status']);
      hasReportedStall = true;
    }
    await sleep(pollMs);
  }
}

async function publishLive(connections: Connections, state: SampleState, stopping: AbortSignal) {
  while (!stopping.aborted) {
    const events = Array.from({ length: changesPerRound }, () => liveChange(state, new Date())).flat();
    const records = events.flatMap((event) => recordsOf(state.random, event));
    await publishRecords(connections, records);
    await sleep(roundMs);
  }
}

function ageText(asOf: string | null): string {
  if (asOf === null) return 'unknown';
  const seconds = (Date.now() - Date.parse(asOf)) / 1_000;
  return `${asOf} (${seconds.toFixed(1)} s old)`;
}

/** Prints a line each second that shows how far the changes have come on their way to the API. */
async function showLive(connections: Connections, access: Access, { report, stopping }: Demo) {
  let previousRecords = (await readProgress(connections)).records;
  let previousMs = performance.now();
  while (!stopping.aborted) {
    await sleep(1_000);
    const { records, lag, documents } = await readProgress(connections);
    const perSecond = ((records - previousRecords) / (performance.now() - previousMs)) * 1_000;
    previousRecords = records;
    previousMs = performance.now();
    // The API may be unable to answer for a moment.
    const answer = await ask(access, '/v1/channels?limit=1').catch(() => null);
    const age = ageText(answer?.dataAsOf ?? null);
    const counts = `${Math.round(perSecond)} events/s  lag ${lag}  ${documents.toLocaleString('en')} documents`;
    if (!stopping.aborted) report(`${new Date().toISOString().slice(11, 19)}  ${counts}  Data-As-Of ${age}`);
  }
}
