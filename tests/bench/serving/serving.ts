import { setTimeout as sleep } from 'node:timers/promises';
import type { MongoClient } from 'mongodb';
import { startScript, startService } from '../../../infra/service.ts';
import { tokens } from '../../api/test-api.ts';
import { peakMegabytes } from '../../support/memory.ts';
import { progress } from '../environment.ts';
import { formatMedian, percentile, ratios, rotated } from '../figures.ts';
import { load } from '../load.ts';
import { type ReportOptions, runBenchmark, table } from '../report.ts';
import { endpointPaths, seedStore } from './dataset.ts';

type Environment = Record<string, string>;

/** How each contender starts on a free port, and the message that it logs once it serves. */
const contenders = {
  bare: {
    start: (environment: Environment) => startScript('tests/bench/serving/bare.ts', environment),
    ready: 'listening',
  },
  api: {
    start: (environment: Environment) =>
      startService('api', {
        ...environment,
        API_TRUSTED_PROXIES: '127.0.0.0/8',
        API_HOST: '127.0.0.1',
        API_PORT: '0',
        RATE_LIMIT_REQUESTS: '0',
        // One organization sends every request, and may use only a share of this number at the same time.
        API_REQUESTS_MAX: '4000',
      }),
    ready: 'ready',
  },
};
type Contender = keyof typeof contenders;
const names = ['bare', 'api'] as const satisfies Contender[];

/** One contender at one endpoint in one round. */
type Slice = {
  contender: Contender;
  endpoint: string;
  requestsPerSecond: number;
  /** For each request: processor time of the contender and of the store, commands and kilobytes of the store. */
  processorMs: number;
  storeMs: number | null;
  commands: number | null;
  kilobytes: number | null;
  p99Ms: number;
};
/** `peaks` contains the peak resident memory of each process. */
type Measured = { slices: Slice[]; peaks: { contender: Contender; megabytes: number }[] };

/** Each endpoint is under load for `compileMs` before the measurement, because a deployed server runs compiled code. */
const fullSize = { tickets: 10_000, compileMs: 3_000, warmMs: 700, ms: 2_000 };
const quickSize = { tickets: 1_000, compileMs: 200, warmMs: 100, ms: 300 };

const connections = 32;
/** The connections that one process must serve with little memory. */
const manyConnections = 256;
/** The pause between two processes. Without a pause, the store's remaining work for one would slow the next. */
const pauseMs = 300;

export const benchServing = (options: ReportOptions): Promise<void> =>
  runBenchmark('serving', options, async ({ mongodbUrl, mongo }) => {
    const size = options.quick ? quickSize : fullSize;
    process.env.MONGODB_URL = mongodbUrl;
    progress(`storing ${size.tickets} tickets`);
    const { name, close } = await seedStore(size.tickets);
    const measured: Measured = { slices: [], peaks: [] };
    const runContender = async (contender: Contender) => {
      const { start, ready } = contenders[contender];
      const server = start({ MONGODB_URL: mongodbUrl, DATABASE_NAME: name, NODE_ENV: 'production' });
      try {
        const port = Number((await server.logged('listening')).port);
        await server.logged(ready);
        // To parse each line would cost this process more than the request behind it.
        server.dropOutput();
        await measureContender(contender, { port, pid: server.pid }, { ...size, mongo }, measured);
      } finally {
        await server.stop();
        await sleep(pauseMs);
      }
    };
    try {
      for (let round = 0; round < options.rounds; round += 1) {
        for (const contender of rotated(names, round)) {
          progress(`round ${round + 1} of ${options.rounds}: ${contender}`);
          await runContender(contender);
        }
      }
    } finally {
      await close();
    }
    return renderSections(measured);
  });

/** The headers of a request that has passed a proxy that terminates TLS. */
const headers = { Authorization: `Bearer ${tokens.a}`, 'X-Forwarded-Proto': 'https' };

async function measureContender(
  contender: Contender,
  { port, pid }: { port: number; pid: number },
  { tickets, compileMs, warmMs, ms, mongo }: typeof fullSize & { mongo: MongoClient },
  { slices, peaks }: Measured,
): Promise<void> {
  const endpoints = Object.entries(endpointPaths(tickets));
  for (const [, paths] of endpoints)
    await load({ port, headers, paths }, { pid }, { warmMs: 0, ms: compileMs, connections });
  for (const [endpoint, paths] of endpoints) {
    const options = { warmMs, ms, connections, mongo };
    const usage = await load({ port, headers, paths }, { pid }, options);
    const requests = usage.latenciesMs.length;
    const perRequest = (total: number | null) => total && total / requests;
    slices.push({
      contender,
      endpoint,
      requestsPerSecond: requests / usage.seconds,
      processorMs: (usage.processorSeconds / requests) * 1_000,
      storeMs: perRequest(usage.storeSeconds && usage.storeSeconds * 1_000),
      commands: perRequest(usage.commands),
      kilobytes: perRequest(usage.bytes && usage.bytes / 1_024),
      p99Ms: percentile(usage.latenciesMs, 0.99) ?? NaN,
    });
  }
  const [, paths = []] = endpoints[0] ?? [];
  await load({ port, headers, paths }, { pid }, { warmMs, ms, connections: manyConnections });
  peaks.push({ contender, megabytes: peakMegabytes({ pid }) });
}

const requestsPerSecond = (slice: Slice) => slice.requestsPerSecond;

function renderSections({ slices, peaks }: Measured): string[] {
  const endpoints = [...Map.groupBy(slices, ({ endpoint }) => endpoint)];
  const rows = endpoints.flatMap(([endpoint, endpointSlices]) => {
    const runsOf = (name: Contender) => endpointSlices.filter(({ contender }) => contender === name);
    return names.map((name) => {
      const runs = runsOf(name);
      const figures = (key: Exclude<keyof Slice, 'contender' | 'endpoint'>, digits: number) =>
        formatMedian(
          runs.map((slice) => slice[key]),
          digits,
        );
      return [
        `${endpoint}: \`${name}\``,
        figures('requestsPerSecond', 0),
        formatMedian(ratios(runs, runsOf('bare'), requestsPerSecond), 2),
        figures('processorMs', 2),
        figures('storeMs', 2),
        figures('commands', 2),
        figures('kilobytes', 1),
        figures('p99Ms', 1),
      ];
    });
  });
  const peakRows = [...Map.groupBy(peaks, ({ contender }) => contender)].map(([contender, ownPeaks]) => [
    `\`${contender}\``,
    formatMedian(ownPeaks.map(({ megabytes }) => megabytes)),
  ]);
  return [
    `${connections} connections.`,
    table(
      ['request', 'requests/s', '÷ bare', 'processor ms', 'of the store', 'commands', 'KB', 'p99 ms'],
      rows,
    ),
    table(['peak memory', 'MB'], peakRows),
  ];
}
