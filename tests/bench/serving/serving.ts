import { setTimeout as sleep } from 'node:timers/promises';
import { tokens } from '../../api/test-api.ts';
import { peakMegabytes } from '../../support/memory.ts';
import { progress } from '../environment.ts';
import { grouped, median, percentile } from '../figures.ts';
import { load, requestInTurn, type Target } from '../load.ts';
import { proxied, startApi, startServer } from '../processes.ts';
import { relativeTo, rotated, runBenchmark, renderTable, type Goal, type ReportOptions } from '../report.ts';
import { endpointPaths, longThread, seedStore } from './dataset.ts';

/** The contenders in the order of the tables: the baselines, then the API. */
const titles = {
  bare: '`node:http` + driver: no keys, checks or log',
  fastify: 'Fastify 5 + driver: keys, checked queries, log',
  api: 'this API, HTTP/1.1 behind a proxy',
} as const;
type ServingName = keyof typeof titles;
const contenders = Object.keys(titles) as ServingName[];

/** One contender at one endpoint in one round. */
type Slice = {
  contender: ServingName;
  endpoint: string;
  requestsPerSecond: number;
  /** Processor time of the contender for each request. */
  processorMs: number;
  p50Ms: number;
  p99Ms: number;
};

/** Everything that the rounds measured, in their order. */
export type Serving = {
  connections: number;
  slices: Slice[];
  /** The peak resident memory of one process, including the slice with many connections. */
  peaks: { contender: ServingName; megabytes: number }[];
  /** The median time of requests to the API, one after the other. */
  alone: { request: string; ms: number }[];
};

const fullSize = {
  /** The lists, of which the endpoints are measured with the first one. */
  tickets: [10_000, 100_000],
  threads: [100, 1_000, 10_000, 100_000],
  /** Before the measurement each endpoint is under load for this long: a deployed server runs compiled code. */
  compileMs: 3_000,
  warmMs: 700,
  sliceMs: 2_000,
  /** The number of requests of a kind, one after the other, in a round. */
  repeats: 10,
};
type Size = typeof fullSize;
const quickSize: Size = {
  tickets: [1_000],
  threads: [100, 1_000],
  compileMs: 200,
  warmMs: 100,
  sliceMs: 300,
  repeats: 3,
};
/** The connections that one process must serve with little memory. */
const manyConnections = 256;
/** Pause between two processes, so that the store's remaining work for one does not slow the next. */
const pauseMs = 300;

type Server = { target: Omit<Target, 'paths'>; pid: number };

/** Compares the API with other ways to answer the same requests. */
export const benchServing = (options: ReportOptions & { connections: number }): Promise<void> =>
  runBenchmark('serving', 'docs/benchmarks-serving.md', options, async ({ mongodbUrl }) => {
    const { quick, rounds, connections } = options;
    const size = quick ? quickSize : fullSize;
    process.env.MONGODB_URL = mongodbUrl;
    await using stores = new AsyncDisposableStack();
    const seeded = new Map<number, string>();
    for (const tickets of size.tickets) {
      progress(`storing ${tickets} tickets`);
      const { name, close } = await seedStore(tickets, seeded.size === 0 ? size.threads : []);
      stores.defer(close);
      seeded.set(tickets, name);
    }
    /** Passes `work` a contender in operation on the store with this number of tickets. */
    const serve = async (name: ServingName, tickets: number, work: (server: Server) => Promise<void>) => {
      const store = { MONGODB_URL: mongodbUrl, DATABASE_NAME: seeded.get(tickets) ?? '' };
      const { server, port } = await (name === 'api'
        ? startApi(store)
        : startServer(`tests/bench/serving/servers/${name}.ts`, store));
      try {
        await work({ target: { port, headers: proxied(tokens.a) }, pid: server.pid });
      } finally {
        await server.stop();
        await sleep(pauseMs);
      }
    };
    const measured: Serving = { connections, slices: [], peaks: [], alone: [] };
    const [listed = 0] = size.tickets;
    for (let round = 0; round < rounds; round += 1) {
      for (const name of rotated(contenders, round)) {
        progress(`round ${round + 1} of ${rounds}: ${name}`);
        await serve(name, listed, (server) => measureContender(name, server, listed, size, measured));
      }
      progress(`round ${round + 1} of ${rounds}: places in lists, and threads`);
      for (const tickets of size.tickets)
        await serve('api', tickets, async ({ target }) => {
          const paths = {
            ...(await placePaths(target, tickets)),
            ...(tickets === listed && threadPaths(size)),
          };
          for (const [request, path] of Object.entries(paths)) {
            const repeated = { ...target, paths: Array<string>(size.repeats).fill(path) };
            measured.alone.push({ request, ms: median(await requestInTurn(repeated)) });
          }
        });
    }
    return { measured, parts: renderParts(measured), goals: checkGoals(measured) };
  });

async function measureContender(
  contender: ServingName,
  { target, pid }: Server,
  tickets: number,
  { compileMs, warmMs, sliceMs: ms }: Size,
  { connections, slices, peaks }: Serving,
): Promise<void> {
  const endpoints = Object.entries(endpointPaths(tickets));
  for (const [, paths] of endpoints)
    await load({ ...target, paths }, { pid }, { ms: compileMs, connections });
  for (const [endpoint, paths] of endpoints) {
    const options = { warmMs, ms, connections };
    const { seconds, processorSeconds, latenciesMs } = await load({ ...target, paths }, { pid }, options);
    slices.push({
      contender,
      endpoint,
      requestsPerSecond: latenciesMs.length / seconds,
      processorMs: (processorSeconds / latenciesMs.length) * 1_000,
      p50Ms: percentile(latenciesMs, 0.5) ?? 0,
      p99Ms: percentile(latenciesMs, 0.99) ?? 0,
    });
  }
  const [, paths = []] = endpoints[0] ?? [];
  await load({ ...target, paths }, { pid }, { warmMs, ms, connections: manyConnections });
  peaks.push({ contender, megabytes: peakMegabytes({ pid }) });
}

/** A page of 20 tickets at the start, in the middle and at the end of the list, reached by its cursors. */
async function placePaths({ port, headers }: Server['target'], tickets: number) {
  const page = (limit: number, cursor: string | undefined) =>
    `/v1/tickets?sort=createdAt&limit=${limit}${cursor === undefined ? '' : `&startingAfter=${cursor}`}`;
  const cursors: string[] = [];
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}${page(100, cursors.at(-1))}`, { headers });
    const { nextCursor } = (await response.json()) as { nextCursor: string | null };
    if (nextCursor === null) break;
    cursors.push(nextCursor);
  }
  const list = `of ${grouped(tickets)} tickets`;
  return {
    [`a page of 20 at the start ${list}`]: page(20, undefined),
    [`a page of 20 in the middle ${list}`]: page(20, cursors[Math.floor(cursors.length / 2)]),
    [`a page of 20 at the end ${list}`]: page(20, cursors.at(-1)),
  };
}

const threadPaths = ({ threads }: Size) =>
  Object.fromEntries(
    threads.map((size) => [
      `a conversation of ${grouped(size)} messages`,
      `/v1/conversations/${longThread(size)}`,
    ]),
  );

const contenderCell = ({ contender }: { contender: ServingName }) => `\`${contender}\``;
const selectRuns = (slices: Slice[], name: ServingName) =>
  slices.filter(({ contender }) => contender === name);
const requestsPerSecond = (slice: Slice) => slice.requestsPerSecond;

const p99Ms = (slice: Slice) => slice.p99Ms;

function renderParts({ connections, slices, peaks, alone }: Serving): string[] {
  const endpointTable = ([endpoint, some]: [string, Slice[]]) =>
    renderTable([endpoint, 'description'], some, (slice) => [contenderCell(slice), titles[slice.contender]], [
      { title: 'requests/s', figure: requestsPerSecond },
      { title: '÷ bare', digits: 2, figure: relativeTo(selectRuns(some, 'bare'), requestsPerSecond) },
      { title: '÷ fastify', digits: 2, figure: relativeTo(selectRuns(some, 'fastify'), requestsPerSecond) },
      { title: 'processor ms', digits: 2, figure: ({ processorMs }) => processorMs },
      { title: 'p99 ms', digits: 1, figure: p99Ms },
    ]);
  return [
    `${connections} connections.`,
    ...[...Map.groupBy(slices, ({ endpoint }) => endpoint)].map(endpointTable),
    renderTable(['contender'], peaks, (peak) => [contenderCell(peak)], [
      { title: 'peak MB', figure: ({ megabytes }) => megabytes },
    ]),
    renderTable(['one request after the other'], alone, ({ request }) => [request], [
      { title: 'ms', digits: 2, figure: ({ ms }) => ms },
    ]),
  ];
}

function checkGoals({ slices, peaks, alone }: Serving): Goal[] {
  const over = (other: ServingName, endpoint: string, figure = requestsPerSecond) => {
    const some = slices.filter((slice) => slice.endpoint === endpoint);
    return selectRuns(some, 'api').map(relativeTo(selectRuns(some, other), figure));
  };
  const pages = alone.filter(({ request }) => request.startsWith('a page of 20'));
  const places = [...Map.groupBy(pages, ({ request }) => request).values()].map((some) =>
    median(some.map(({ ms }) => ms)),
  );
  const bounds = {
    'a list of 20 tickets': 0.8,
    'a ticket': 1.5,
    'a conversation of 5 messages': 0.85,
    'a page of 20 messages': 0.85,
  };
  const p99s = Object.keys(bounds).map((endpoint) =>
    median(over('bare', endpoint, p99Ms).filter((figure) => figure !== null)),
  );
  const memory = peaks.flatMap(({ contender, megabytes }) => (contender === 'api' ? [megabytes] : []));
  return [
    ...Object.entries(bounds).map(([endpoint, atLeast]) => ({
      goal: `${endpoint} ÷ bare`,
      atLeast,
      figures: over('bare', endpoint),
    })),
    { goal: 'a ticket ÷ fastify', atLeast: 1.5, figures: over('fastify', 'a ticket') },
    { goal: 'the worst p99 ÷ bare', atMost: 1.5, figures: [Math.max(...p99s)] },
    { goal: `peak MB with ${manyConnections} connections`, atMost: 256, figures: memory },
    {
      goal: 'the slowest place of a list ÷ the fastest',
      atMost: 1.3,
      figures: [Math.max(...places) / Math.min(...places)],
    },
  ];
}
