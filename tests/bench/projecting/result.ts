import type { Goal } from '../goal.ts';
import type { Machine } from '../machine.ts';
import type { Spread } from '../statistics.ts';
import type { ContenderName } from './contender-names.ts';

/** One run of one contender over a backlog. */
export type BacklogRun = {
  /** The consumed records. */
  records: number;
  /** Documents in the store afterwards. */
  documents: number | null;
  /** From the start of the process to the first record consumed; null where it was not measured. */
  startSeconds: number | null;
  /** From the first record consumed to the last one applied. */
  seconds: number;
  /** Processor time of the contender and of the store in that time. */
  processorSeconds: number;
  storeProcessorSeconds: number | null;
  /** The peak resident memory of the process since it started. */
  peakMegabytes: number;
};

/** One run at one event rate, on a projector that follows live. */
export type LiveRun = {
  /** The measured number of events published in a second. */
  published: number;
  events: number;
  /** Time from publication until readable in the store, in milliseconds, of the sampled events. */
  latenciesMs: number[];
  /** Sampled events that were not readable even after all were recorded as applied. */
  unseen: number;
};

/** One projector that follows live at several rates, then is idle. */
export type FollowRun = {
  rates: { eventsPerSecond: number; run: LiveRun }[];
  /** Share of one core without traffic. */
  idlePercent: number;
  partitions: number;
  peakMegabytes: number;
};

export type ContenderResult = {
  name: ContenderName;
  title: string;
  /** The expected number of documents at the end. */
  entities: number;
  runs: BacklogRun[];
  recordsPerSecond: Spread | null;
  /** The same from the start of the process. */
  recordsPerSecondFromStart: Spread | null;
  /** Seconds of processor time for a million records. */
  processorSecondsPerMillion: Spread | null;
  storeProcessorSecondsPerMillion: Spread | null;
  peakMegabytes: Spread | null;
};

export type RateResult = {
  eventsPerSecond: number;
  published: Spread | null;
  p50Ms: Spread | null;
  p99Ms: Spread | null;
  samples: number;
  unseen: number;
};

/** The content of the `--json` file. */
export type ProjectingResult = {
  benchmark: 'projecting';
  startedAt: string;
  quick: boolean;
  rounds: number;
  machine: Machine;
  contenders: ContenderResult[];
  leftOut: { name: ContenderName; reason: string }[];
  live: {
    records: number;
    rates: RateResult[];
    idlePercent: Spread | null;
    partitions: number;
    peakMegabytes: Spread | null;
  } | null;
  goals: Goal[];
};
