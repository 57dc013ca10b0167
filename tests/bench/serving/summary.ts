import { atLeast, atMost, type Goal } from '../goal.ts';
import type { Machine } from '../machine.ts';
import { spreadOf } from '../statistics.ts';
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
  const api = contenders.find(({ name }) => name === 'api');
  const at = (endpoint: string) => api?.endpoints.find((one) => one.endpoint === endpoint);
  const p99s = (api?.endpoints ?? []).flatMap(({ p99OfBare }) => p99OfBare?.median ?? []);
  const medians = places.flatMap(({ p50Ms }) => p50Ms?.median ?? []);
  return [
    atLeast('a list ÷ bare', 0.8, '×', at('tickets')?.ofBare?.median ?? null),
    atLeast('a ticket ÷ bare', 1.5, '×', at('ticket')?.ofBare?.median ?? null),
    atLeast('a ticket ÷ fastify', 1.5, '×', at('ticket')?.ofFastify?.median ?? null),
    atLeast('a conversation ÷ bare', 0.85, '×', at('conversation')?.ofBare?.median ?? null),
    atLeast('a page of messages ÷ bare', 0.85, '×', at('messages')?.ofBare?.median ?? null),
    atMost('the worst p99 ÷ bare', 1.5, '×', p99s.length > 0 ? Math.max(...p99s) : null),
    atMost('peak memory with 256 connections', 256, ' MB', api?.peakMegabytes?.median ?? null),
    atMost(
      'the slowest place of a list ÷ the fastest',
      1.3,
      '×',
      medians.length > 0 ? Math.max(...medians) / Math.min(...medians) : null,
    ),
  ];
}
