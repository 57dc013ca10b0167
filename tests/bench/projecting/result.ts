import type { Goal } from '../goal.ts';
import type { Machine } from '../machine.ts';
import type { Spread } from '../statistics.ts';
import type { ContenderName } from './contender-names.ts';

/** One run of one contender over a backlog. */
export type BacklogRun = {
  /** Records that were consumed; `update-one` may be given a part of them only. */
  records: number;
  /** Documents in the store afterwards; null where the contender writes none. */
  documents: number | null;
  /** From the first record consumed to the last one applied. */
  seconds: number;
  /** Processor time in that span, of the contender and of the store. */
  processorSeconds: number;
  storeProcessorSeconds: number | null;
  /** The most memory that the process has held since it started. */
  peakMegabytes: number;
  /** Writes of documents; null where documents do not count them. */
  writes: number | null;
};

/** One run at a rate of events, on a projector that follows live. */
export type LiveRun = {
  /** Events published in a second, as it came out. */
  published: number;
  events: number;
  /** Published → readable in the store, in milliseconds, of a sample of the events. */
  latenciesMs: number[];
  /** Sampled events that were not readable even when all were recorded as applied. */
  unseen: number;
  writesPerEvent: number;
};

/** One projector that follows live at several rates and is idle afterwards. */
export type FollowRun = {
  rates: { eventsPerSecond: number; run: LiveRun }[];
  /** Of one core, without any traffic. */
  idlePercent: number;
  partitions: number;
  peakMegabytes: number;
};

export type ContenderResult = {
  name: ContenderName;
  title: string;
  organizations: number;
  /** Documents that there are to be in the end. */
  entities: number;
  runs: BacklogRun[];
  recordsPerSecond: Spread | null;
  /** Seconds of processor time for a million records. */
  processorSecondsPerMillion: Spread | null;
  storeProcessorSecondsPerMillion: Spread | null;
  peakMegabytes: Spread | null;
  writesPerRecord: Spread | null;
};

export type RateResult = {
  eventsPerSecond: number;
  published: Spread | null;
  p50Ms: Spread | null;
  p99Ms: Spread | null;
  writesPerEvent: Spread | null;
  samples: number;
  unseen: number;
};

/** What `--json` writes. */
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
