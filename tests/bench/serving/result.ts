import type { Goal } from '../goal.ts';
import type { Machine } from '../machine.ts';
import type { Spread } from '../statistics.ts';
import type { ServingName } from './contender-names.ts';

/** One contender at one endpoint during one slice of time. */
export type Slice = {
  requestsPerSecond: number;
  /** Processor time of all its processes for each request, in milliseconds. */
  processorMs: number;
  p50Ms: number;
  p99Ms: number;
};

export type EndpointResult = {
  endpoint: string;
  title: string;
  slices: Slice[];
  requestsPerSecond: Spread | null;
  /** Requests per second divided by those of `bare`, round by round. */
  ofBare: Spread | null;
  ofFastify: Spread | null;
  processorMs: Spread | null;
  p99Ms: Spread | null;
  p99OfBare: Spread | null;
};

export type ServingContenderResult = {
  name: ServingName;
  title: string;
  endpoints: EndpointResult[];
  /** The peak resident memory of one process, including the slice with many connections. */
  peakMegabytes: Spread | null;
};

/** Pages of 20 at three positions of a list with `tickets` tickets. */
export type PlaceResult = { tickets: number; place: string; p50Ms: Spread | null };

/** Whole conversations, retrieved one after the other. */
export type ThreadResult = { messages: number; ms: Spread | null };

/** The content of the `--json` file. */
export type ServingResult = {
  benchmark: 'serving';
  startedAt: string;
  quick: boolean;
  rounds: number;
  connections: number;
  machine: Machine;
  contenders: ServingContenderResult[];
  places: PlaceResult[];
  threads: ThreadResult[];
  goals: Goal[];
};
