import { rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { startStack } from '../../../infra/dev-servers/stack.ts';
import { temporaryFolder } from '../../../infra/dev-servers/temporary-folder.ts';
import { writeCertificate } from '../../api/requests.ts';
import type { TestStore } from '../../api/test-api.ts';
import { peakMegabytes } from '../../support/memory.ts';
import type { ReportOptions } from '../report.ts';
import { load, requestInTurn } from '../load.ts';
import { describeMachine } from '../machine.ts';
import { processorSeconds } from '../processor-time.ts';
import { median, percentile } from '../statistics.ts';
import { servingContenders, type Serving, type ServingContender, type ServingContext } from './contenders.ts';
import type { ServingName } from './contender-names.ts';
import { endpointsOf, longThreadId, seedStore, type Endpoint } from './dataset.ts';
import { writeDocs } from './docs.ts';
import type { Slice } from './result.ts';
import { summarize, type MeasuredContender, type MeasuredPlace, type MeasuredThread } from './summary.ts';
import { renderResult } from './table.ts';

type Size = {
  /** Sizes of the list, in ascending order. The endpoints are measured with the first one. */
  tickets: number[];
  threads: number[];
  /** Before the measurement each endpoint is under load for this long: a deployed server runs compiled code. */
  compileMs: number;
  warmMs: number;
  sliceMs: number;
  /** The number of requests for each place and each thread in a round. */
  repeats: number;
};

const fullSize: Size = {
  tickets: [10_000, 100_000],
  threads: [100, 1_000, 10_000, 100_000],
  ...{ compileMs: 3_000, warmMs: 700, sliceMs: 2_000, repeats: 20 },
};
const quickSize: Size = {
  tickets: [1_000],
  threads: [100, 1_000],
  ...{ compileMs: 200, warmMs: 100, sliceMs: 300, repeats: 3 },
};
/** The connections that one process must serve with little memory. */
const manyConnections = 256;

const report = (line: string) => void process.stderr.write(`${line}\n`);

/** Measures, prints the table on stdout and progress on stderr, and writes the requested files. */
type ServingOptions = ReportOptions & { only?: readonly ServingName[]; connections: number };

export async function benchServing(options: ServingOptions): Promise<void> {
  const startedAt = new Date().toISOString();
  const { path: dataDir, release } = await temporaryFolder('support-read-models-bench-');
  const size = {
    ...(options.quick ? quickSize : fullSize),
  };
  const stack = await startStack({ report, dataDir });
  const stores: TestStore[] = [];
  try {
    process.env.MONGODB_URL = stack.mongodbUrl;
    const machine = await describeMachine(stack);
    const certificate = await writeCertificate(dataDir);
    for (const [index, tickets] of size.tickets.entries()) {
      report(`storing ${tickets} tickets`);
      stores.push(await seedStore({ tickets, threads: index === 0 ? size.threads : [] }));
    }
    const contexts = stores.map((store): ServingContext => ({
      environment: { MONGODB_URL: stack.mongodbUrl, DATABASE_NAME: store.name },
      certificate,
    }));
    const measured = await measure(contexts, size, options);
    const result = summarize({ startedAt, ...options, quick: options.quick === true, machine, ...measured });
    process.stdout.write(renderResult(result));
    if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(result, null, 2)}\n`);
    if (options.writeDocs) await writeDocs(result);
  } finally {
    for (const store of stores) await store.close();
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
    await release();
  }
}

async function measure(contexts: ServingContext[], size: Size, options: ServingOptions) {
  const [context] = contexts;
  if (!context) throw new Error('there is nothing to serve');
  const contenders = servingContenders
    .filter(({ name }) => !options.only || options.only.includes(name))
    .map(({ name, title }): MeasuredContender => ({ name, title, endpoints: new Map(), peaks: [] }));
  const places: MeasuredPlace[] = [];
  const threads: MeasuredThread[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const first = round % contenders.length;
    for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      report(`round ${round + 1} of ${options.rounds}: ${contender.name}`);
      await measureContender(context, contender, size, options);
    }
    report(`round ${round + 1} of ${options.rounds}: places in lists, and threads`);
    for (const [index, tickets] of size.tickets.entries()) {
      const sized = contexts[index];
      if (sized) places.push(...(await measurePlaces(sized, tickets, size)));
    }
    threads.push(...(await measureThreads(context, size)));
  }
  return { contenders, places, threads };
}

const contenderOf = (name: string): ServingContender => {
  const found = servingContenders.find((contender) => contender.name === name);
  if (!found) throw new Error(`${name} is no contender`);
  return found;
};

async function measureContender(
  context: ServingContext,
  { name, endpoints, peaks }: MeasuredContender,
  { tickets, compileMs, warmMs, sliceMs }: Size,
  { connections }: ServingOptions,
): Promise<void> {
  const all = endpointsOf(tickets[0] ?? 0);
  await withServing(contenderOf(name), context, async (serving) => {
    for (const { paths } of all)
      await load({ ...serving.target, paths }, { warmMs: 0, ms: compileMs, connections }, () => 0);
    for (const endpoint of all) {
      const slice = await measureSlice(serving, endpoint, { warmMs, ms: sliceMs, connections });
      endpoints.set(endpoint.name, [...(endpoints.get(endpoint.name) ?? []), slice]);
    }
    const paths = all[0]?.paths ?? [];
    await load({ ...serving.target, paths }, { warmMs, ms: sliceMs, connections: manyConnections }, () => 0);
    peaks.push(peakMegabytes(serving.server));
  });
}

async function measureSlice(
  { target, server }: Serving,
  { paths }: Endpoint,
  options: { warmMs: number; ms: number; connections: number },
): Promise<Slice> {
  const { requests, seconds, sampled, latenciesMs } = await load({ ...target, paths }, options, () =>
    processorSeconds(server.pid),
  );
  return {
    requestsPerSecond: requests / seconds,
    processorMs: (sampled / requests) * 1_000,
    p50Ms: percentile(latenciesMs, 0.5) ?? 0,
    p99Ms: percentile(latenciesMs, 0.99) ?? 0,
  };
}

/** A page of 20 tickets at the start, in the middle and at the end of the list, reached by its cursors. */
async function measurePlaces(
  context: ServingContext,
  tickets: number,
  { repeats }: Size,
): Promise<MeasuredPlace[]> {
  const path = '/v1/tickets?sort=createdAt&limit=';
  return withServing(contenderOf('api'), context, async ({ target }) => {
    const cursors = await pageCursors({ ...target, path: `${path}100` });
    const cursorAt = (share: number) =>
      cursors[Math.min(cursors.length - 1, Math.floor(cursors.length * share))];
    const measured: MeasuredPlace[] = [];
    for (const [place, share] of [
      ['start', 0],
      ['middle', 0.5],
      ['end', 1],
    ] as const) {
      const from = share === 0 ? '' : `&startingAfter=${cursorAt(share)}`;
      const paths = Array.from({ length: repeats + 5 }, () => `${path}20${from}`);
      const durationsMs = (await requestInTurn({ ...target, paths })).slice(5);
      measured.push({ tickets, place, p50Ms: median(durationsMs) });
    }
    return measured;
  });
}

/** The cursors of all pages of a list. */
async function pageCursors({ port, headers, path }: Serving['target'] & { path: string }): Promise<string[]> {
  const cursors: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const after: string = cursor === '' ? '' : `&startingAfter=${cursor}`;
    const response: Response = await fetch(`http://127.0.0.1:${port}${path}${after}`, { headers });
    const { nextCursor } = (await response.json()) as { nextCursor: string | null };
    cursor = nextCursor;
    if (cursor !== null) cursors.push(cursor);
  }
  return cursors;
}

async function measureThreads(
  context: ServingContext,
  { threads, repeats }: Size,
): Promise<MeasuredThread[]> {
  return withServing(contenderOf('api'), context, async ({ target }) => {
    const measured: MeasuredThread[] = [];
    for (const messages of threads) {
      const times = messages >= 10_000 ? 2 : repeats;
      const paths = Array.from({ length: times }, () => `/v1/conversations/${longThreadId(messages)}`);
      measured.push({ messages, ms: median(await requestInTurn({ ...target, paths })) });
    }
    return measured;
  });
}

/** Pause between two processes, so that the store's remaining work for one does not slow the next. */
const pauseMs = 300;

async function withServing<T>(
  contender: ServingContender,
  context: ServingContext,
  work: (serving: Serving) => Promise<T>,
): Promise<T> {
  const serving = await contender.start(context);
  try {
    return await work(serving);
  } finally {
    await serving.stop();
    await sleep(pauseMs);
  }
}
