import { setTimeout as sleep } from 'node:timers/promises';
import { type Service, startScript, startService } from '../../../infra/service.ts';
import type { StoredDocument } from '../../../services/projector/materialize/store.ts';
import { collectionOf, generationDatabase } from '../../../shared/store/connection.ts';
import * as build from '../../api/builders.ts';
import { apiSettings } from '../../support/api-process.ts';
import { peakMegabytes } from '../../support/memory.ts';
import { reached } from '../../support/progress.ts';
import { type BenchEnvironment, progress, withScratch } from '../environment.ts';
import { formatMedian, formatNumber, percentile, ratios } from '../figures.ts';
import { publishDataset, type Published } from '../publish.ts';
import { type ReportOptions, runBenchmark, table } from '../report.ts';

/** The number of tickets. Each has about ten messages. */
const fullSize = 14_000;
const quickSize = 200;
const token = 'svc_live_bench0123456789';
/** The interval at which a reader requests a page of tickets. */
const readEveryMs = 20;

/** The work of one run, and the latencies of a reader during that work. */
type Run = { documents: number; seconds: number; peakMegabytes: number | null; latenciesMs: number[] };

/** Each kind of work by its name. With `idle`, the reader measures the API without other work. */
const titles = {
  idle: 'nothing',
  right: '`verify ticket --repair`, no document wrong',
  wrong: '`verify ticket --repair`, every document wrong',
  paced: '`verify ticket --repair --pace 500`, every document wrong',
  messages: '`verify message --repair`, no document wrong',
  rebuild: '`rebuild start`, a projector, `rebuild await`',
} as const;
type Name = keyof typeof titles;

/** Compares repairs of documents in place with a rebuild of the same data. */
export const benchRepairing = (options: ReportOptions): Promise<void> =>
  runBenchmark('repairing', options, async (environment) => {
    const published = await publishDataset(environment, options.quick ? quickSize : fullSize);
    const runs: Record<Name, Run[]> = {
      idle: [],
      right: [],
      wrong: [],
      paced: [],
      messages: [],
      rebuild: [],
    };
    for (let round = 0; round < options.rounds; round += 1) {
      progress(`round ${round + 1} of ${options.rounds}`);
      await withScratch(environment, ({ name }) => runRound(environment, published, name, runs));
    }
    const names = Object.keys(titles) as Name[];
    const rows = names.map((name) => {
      const runsOfContender = runs[name];
      return [
        titles[name],
        name === 'idle' ? '–' : formatMedian(runsOfContender.map(({ documents }) => documents)),
        formatMedian(
          runsOfContender.map(({ seconds }) => seconds),
          1,
        ),
        name === 'idle'
          ? '–'
          : formatMedian(
              ratios(runsOfContender, runs.rebuild, ({ seconds }) => seconds),
              3,
            ),
        formatMedian(runsOfContender.map((run) => run.peakMegabytes)),
        formatMedian(runsOfContender.map(({ latenciesMs }) => percentile(latenciesMs, 0.5))),
        formatMedian(runsOfContender.map(({ latenciesMs }) => percentile(latenciesMs, 0.99))),
      ];
    });
    const headings = ['work', 'documents', 'seconds', '÷ rebuild', 'peak MB', 'p50 ms', 'p99 ms'];
    return [`${formatNumber(published.records)} records.`, table(headings, rows)];
  });

async function runRound(
  environment: BenchEnvironment,
  { ends }: Published,
  name: string,
  runs: Record<Name, Run[]>,
): Promise<void> {
  const { mongo } = environment;
  const settings = {
    KAFKA_BROKERS: environment.kafkaBrokers,
    MONGODB_URL: environment.mongodbUrl,
    TOPIC_PREFIX: environment.prefix,
    DATABASE_NAME: name,
    CONSUMER_GROUP: name,
    LOG_LEVEL: 'info',
  };
  const databaseOf = (generation: number) => generationDatabase(mongo, name, generation);
  const tickets = collectionOf<StoredDocument>(databaseOf(1), 'ticket');
  const applied = (service: Service, generation: number) =>
    reached(mongo.db(name), ends, service.failures, generation, { limitMs: Infinity });
  const cli = (args: string[]) => startScript('services/cli/main.ts', settings, args);
  await using services = new AsyncDisposableStack();
  const stopAtEnd = (service: Service) => {
    services.defer(async () => {
      await service.stop();
    });
    return service;
  };
  const projector = stopAtEnd(startService('projector', { ...settings, GENERATION: '1' }));
  await applied(projector, 1);
  const { orgId } = (await tickets.findOne({ state: { $exists: true } })) ?? {};
  await build.store(databaseOf(1), 'apiKey', [
    build.apiKey(token, { id: 'key_bench' }, { orgId: orgId ?? '' }),
  ]);
  const api = stopAtEnd(
    startService('api', { ...apiSettings(settings), RATE_LIMIT_REQUESTS: '0', LOG_LEVEL: 'info' }),
  );
  /** Measures `work` until the command that it starts has ended. */
  const measureWork = async (documents: number, work: () => Promise<Service | null>) => {
    const reader = await startReader(api);
    const startMs = performance.now();
    let peak: number | null = null;
    const service = await work();
    if (service) {
      const sampling = setInterval(() => {
        peak = Math.max(peak ?? 0, peakOf(service));
      }, 50);
      const code = await service.exited;
      clearInterval(sampling);
      if (code !== 0) throw new Error(service.stderr() || service.stdout());
    }
    const seconds = (performance.now() - startMs) / 1_000;
    return { documents, seconds, peakMegabytes: peak, latenciesMs: await reader.stop() };
  };
  const repair = async (kind: 'ticket' | 'message', ...args: string[]) => {
    const documents = await collectionOf(databaseOf(1), kind).countDocuments();
    return measureWork(documents, () => Promise.resolve(cli(['verify', kind, '--repair', ...args])));
  };
  const makeTicketsWrong = () => tickets.updateMany({}, { $unset: { 'joined.requester': '' } });
  runs.idle.push(await measureWork(0, () => sleep(5_000, null)));
  runs.right.push(await repair('ticket'));
  await makeTicketsWrong();
  runs.wrong.push(await repair('ticket'));
  await makeTicketsWrong();
  runs.paced.push(await repair('ticket', '--pace', '500'));
  runs.messages.push(await repair('message'));
  const records = [...ends.values()].reduce((sum, end) => sum + end, 0);
  const rebuild = await measureWork(records, async () => {
    const starting = cli(['rebuild', 'start']);
    if ((await starting.exited) !== 0) throw new Error(starting.stdout());
    stopAtEnd(startService('projector', { ...settings, GENERATION: '2' }));
    return cli(['rebuild', 'await', '2', '--timeout', '7200']);
  });
  runs.rebuild.push({ ...rebuild, peakMegabytes: null });
  services.defer(async () => {
    await databaseOf(2).dropDatabase();
  });
}

/** The peak resident memory of a process so far; 0 once it has ended. */
function peakOf(service: Service): number {
  try {
    return peakMegabytes(service) || 0;
  } catch {
    return 0;
  }
}

/** Starts to read a page of tickets every 20 ms, and measures the latency of each response. */
async function startReader(api: Service) {
  const { port } = await api.logged('listening');
  const url = `http://127.0.0.1:${String(port)}/v1/tickets`;
  const headers = { authorization: `Bearer ${token}`, 'x-forwarded-proto': 'https' };
  const latenciesMs: number[] = [];
  const reading = new Set<Promise<void>>();
  const read = async () => {
    const startMs = performance.now();
    const response = await fetch(url, { headers });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${url}: ${response.status}`);
    latenciesMs.push(performance.now() - startMs);
  };
  const timer = setInterval(() => {
    const request = read().finally(() => reading.delete(request));
    reading.add(request);
  }, readEveryMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await Promise.all(reading);
      return latenciesMs;
    },
  };
}
