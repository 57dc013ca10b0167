import { atLeast, atMost, type Goal } from '../goal.ts';
import type { Machine } from '../machine.ts';
import { percentile, spreadOf, type Spread } from '../statistics.ts';
import type { ContenderName } from './contender-names.ts';
import type { BacklogRun, ContenderResult, FollowRun, ProjectingResult, RateResult } from './result.ts';

/** A contender's runs, one for each round. */
export type Measured = Pick<ContenderResult, 'name' | 'title' | 'entities' | 'runs'>;

export type Measurements = {
  startedAt: string;
  quick: boolean;
  rounds: number;
  machine: Machine;
  contenders: Measured[];
  leftOut: { name: ContenderName; reason: string }[];
  live: { records: number; runs: FollowRun[] } | null;
};

/** Computes medians and spreads, and compares them with the goals. */
export function summarize(measured: Measurements): ProjectingResult {
  const contenders = measured.contenders.map(summarizeContender);
  const live = measured.live && summarizeLive(measured.live);
  return { benchmark: 'projecting', ...measured, contenders, live, goals: goalsOf(contenders, live) };
}

function summarizeContender(measured: Measured): ContenderResult {
  const spread = (figure: (run: BacklogRun) => number | null) => spreadOf(measured.runs.map(figure));
  const perMillion = (seconds: number | null, { records }: BacklogRun) =>
    seconds === null ? null : (seconds / records) * 1e6;
  return {
    ...measured,
    recordsPerSecond: spread(rate),
    recordsPerSecondFromStart: spread(rateFromStart),
    processorSecondsPerMillion: spread((run) => perMillion(run.processorSeconds, run)),
    storeProcessorSecondsPerMillion: spread((run) => perMillion(run.storeProcessorSeconds, run)),
    peakMegabytes: spread((run) => run.peakMegabytes),
  };
}

function summarizeLive({ records, runs }: NonNullable<Measurements['live']>): ProjectingResult['live'] {
  const rates = [...new Set(runs.flatMap((run) => run.rates.map(({ eventsPerSecond }) => eventsPerSecond)))];
  return {
    records,
    rates: rates.map((rate) => summarizeRate(rate, runs)),
    idlePercent: spreadOf(runs.map(({ idlePercent }) => idlePercent)),
    partitions: runs[0]?.partitions ?? 0,
    peakMegabytes: spreadOf(runs.map(({ peakMegabytes }) => peakMegabytes)),
  };
}

function summarizeRate(eventsPerSecond: number, follows: FollowRun[]): RateResult {
  const runs = follows.flatMap(({ rates }) =>
    rates.flatMap((rate) => (rate.eventsPerSecond === eventsPerSecond ? [rate.run] : [])),
  );
  return {
    eventsPerSecond,
    published: spreadOf(runs.map(({ published }) => published)),
    p50Ms: spreadOf(runs.map(({ latenciesMs }) => percentile(latenciesMs, 0.5))),
    p99Ms: spreadOf(runs.map(({ latenciesMs }) => percentile(latenciesMs, 0.99))),
    samples: runs.reduce((total, { latenciesMs }) => total + latenciesMs.length, 0),
    unseen: runs.reduce((total, { unseen }) => total + unseen, 0),
  };
}

function goalsOf(contenders: ContenderResult[], live: ProjectingResult['live']): Goal[] {
  const runsOf = (name: ContenderName) => contenders.find((contender) => contender.name === name)?.runs ?? [];
  // Round by round, so that other load on the machine affects both.
  const ratio = (below: ContenderName, figure: (run: BacklogRun) => number | null) => {
    const [ours, theirs] = [runsOf('projector').map(figure), runsOf(below).map(figure)];
    const ratios = ours.map((value, round) => (value ?? NaN) / (theirs[round] ?? NaN));
    return medianOf(spreadOf(ratios.filter(Number.isFinite)));
  };
  const projector = contenders.find(({ name }) => name === 'projector');
  const p99 = live?.rates.find(({ eventsPerSecond }) => eventsPerSecond === 1_000)?.p99Ms ?? null;
  return [
    atLeast(
      'records/s ÷ bulk-write, both from the start of the process',
      0.5,
      '×',
      ratio('bulk-write', rateFromStart),
    ),
    atLeast('records/s ÷ connector', 1, '×', ratio('connector', rate)),
    atMost(
      'processor time per million records',
      85,
      ' s',
      medianOf(projector?.processorSecondsPerMillion ?? null),
    ),
    atMost('live p99 at 1,000 events/s', 500, ' ms', medianOf(p99)),
    atMost('peak resident memory over a backlog', 256, ' MB', medianOf(projector?.peakMegabytes ?? null)),
    atMost('idle, of one core', 2, ' %', medianOf(live?.idlePercent ?? null)),
  ];
}

const rate = ({ records, seconds }: BacklogRun) => records / seconds;
const rateFromStart = ({ records, seconds, startSeconds }: BacklogRun) =>
  startSeconds === null ? null : records / (startSeconds + seconds);
const medianOf = (spread: Spread | null) => spread?.median ?? null;
