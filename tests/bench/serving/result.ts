import type { Goal } from '../goal.ts';
import type { Machine } from '../machine.ts';
import type { Spread } from '../statistics.ts';
import type { ServingName } from './contender-names.ts';

/** One contender at one endpoint for one slice of time. */
export type Slice = {
  requestsPerSecond: number;
  /** Processor time a request, in milliseconds, of all its processes. */
  processorMs: number;
  p50Ms: number;
  p99Ms: number;
};

export type EndpointResult = {
  endpoint: string;
  title: string;
  slices: Slice[];
  requestsPerSecond: Spread | null;
  /** Requests a second beside those of `bare`, round by round. */
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
  /** The most that one process was resident with, many connections included. */
  peakMegabytes: Spread | null;
};

/** Pages of 20 at three places of a list of so many tickets. */
export type PlaceResult = { tickets: number; place: string; p50Ms: Spread | null };

/** Whole conversations, one after the other. */
export type ThreadResult = { messages: number; ms: Spread | null };

/** What `--json` writes. */
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
