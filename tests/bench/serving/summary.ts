import { atLeast, atMost, type Goal } from '../goal.ts';
import type { Machine } from '../machine.ts';
import { median, spreadOf } from '../statistics.ts';
import type { ServingName } from './contender-names.ts';
import { endpointsOf } from './dataset.ts';
import type { EndpointResult, ServingContenderResult, ServingResult, Slice } from './result.ts';

/** A contender's slices by endpoint, and its peak memory, one for each round. */
export type MeasuredContender = {
  name: ServingName;
  title: string;
  endpoints: Map<string, Slice[]>;
  peaks: number[];
};
export type MeasuredPlace = { tickets: number; place: string; p50Ms: number };
export type MeasuredThread = { messages: number; ms: number };

export type ServingMeasurements = {
  startedAt: string;
  quick: boolean;
  rounds: number;
  connections: number;
  machine: Machine;
  contenders: MeasuredContender[];
  places: MeasuredPlace[];
  threads: MeasuredThread[];
};

/** Computes medians and spreads, and compares them with the goals. */
export function summarize(measured: ServingMeasurements): ServingResult {
  const { startedAt, quick, rounds, connections, machine } = measured;
  const slicesOf = (name: ServingName, endpoint: string) =>
    measured.contenders.find((one) => one.name === name)?.endpoints.get(endpoint) ?? [];
  const contenders = measured.contenders.map(({ name, title, endpoints, peaks }): ServingContenderResult => ({
    ...{ name, title, peakMegabytes: spreadOf(peaks) },
    endpoints: endpointsOf(1).map((endpoint) => ({
      ...{ endpoint: endpoint.name, title: endpoint.title },
      ...summarizeSlices(endpoints.get(endpoint.name) ?? [], {
        bare: slicesOf('bare', endpoint.name),
        fastify: slicesOf('fastify', endpoint.name),
      }),
    })),
  }));
  const places = grouped(measured.places, ({ tickets, place }) => `${tickets} ${place}`).map((some) => ({
    ...{ tickets: some[0].tickets, place: some[0].place },
    p50Ms: spreadOf(some.map(({ p50Ms }) => p50Ms)),
  }));
  const threads = grouped(measured.threads, ({ messages }) => String(messages)).map((some) => ({
    messages: some[0].messages,
    ms: spreadOf(some.map(({ ms }) => ms)),
  }));
  const result = { startedAt, quick, rounds, connections, machine, contenders, places, threads };
  return { benchmark: 'serving', ...result, goals: goalsOf(result) };
}

const grouped = <T>(items: T[], keyOf: (item: T) => string): [T, ...T[]][] =>
  [...Map.groupBy(items, keyOf).values()] as [T, ...T[]][];

function summarizeSlices(
  slices: Slice[],
  { bare, fastify }: { bare: Slice[]; fastify: Slice[] },
): Omit<EndpointResult, 'endpoint' | 'title'> {
  // Round by round, so that other load on the machine affects both.
  const ratioTo = (others: Slice[], figure: (slice: Slice) => number) =>
    spreadOf(
      slices.flatMap((slice, round) => {
        const other = others[round];
        return other ? [figure(slice) / figure(other)] : [];
      }),
    );
  return {
    slices,
    requestsPerSecond: spreadOf(slices.map(({ requestsPerSecond }) => requestsPerSecond)),
    ofBare: ratioTo(bare, ({ requestsPerSecond }) => requestsPerSecond),
    ofFastify: ratioTo(fastify, ({ requestsPerSecond }) => requestsPerSecond),
    processorMs: spreadOf(slices.map(({ processorMs }) => processorMs)),
    p99Ms: spreadOf(slices.map(({ p99Ms }) => p99Ms)),
    p99OfBare: ratioTo(bare, ({ p99Ms }) => p99Ms),
  };
}

function goalsOf({ contenders, places }: Pick<ServingResult, 'contenders' | 'places'>): Goal[] {
  const figures = (name: ServingName) => contenders.find((one) => one.name === name);
  const at = (name: ServingName, endpoint: string) =>
    figures(name)?.endpoints.find((one) => one.endpoint === endpoint);
  const lowest = (figure: (one: EndpointResult) => number | undefined) => {
    const all = (figures('api')?.endpoints ?? []).map(figure);
    return all.length > 0 && all.every((one) => one !== undefined) ? Math.min(...all) : null;
  };
  const worstP99 = lowest(({ p99OfBare }) => (p99OfBare ? -p99OfBare.median : undefined));
  const medians = places.flatMap(({ p50Ms }) => p50Ms?.median ?? []);
  const [https, http2] = (['api-https', 'api-http2'] as const).map((name) =>
    median((figures(name)?.endpoints ?? []).flatMap(({ processorMs }) => processorMs?.median ?? [])),
  );
  return [
    atLeast('a list ÷ bare', 0.85, '×', at('api', 'tickets')?.ofBare?.median ?? null),
    atLeast('a conversation ÷ bare', 0.85, '×', at('api', 'conversation')?.ofBare?.median ?? null),
    atLeast('a page of messages ÷ bare', 0.85, '×', at('api', 'messages')?.ofBare?.median ?? null),
    atLeast('a ticket ÷ bare', 0.75, '×', at('api', 'ticket')?.ofBare?.median ?? null),
    atLeast(
      'the lowest of all ÷ fastify',
      1,
      '×',
      lowest(({ ofFastify }) => ofFastify?.median),
    ),
    atMost('the worst p99 ÷ bare', 1.5, '×', worstP99 === null ? null : -worstP99),
    atMost('peak memory with 256 connections', 200, ' MB', figures('api')?.peakMegabytes?.median ?? null),
    atMost(
      'processor time a request, HTTP/2 ÷ HTTP/1.1 over TLS',
      1,
      '×',
      https && http2 ? http2 / https : null,
    ),
    atMost(
      'the slowest place of a list ÷ the fastest',
      1.3,
      '×',
      medians.length > 0 ? Math.max(...medians) / Math.min(...medians) : null,
    ),
  ];
}
