import { atLeast, atMost, type Goal } from '../goal.ts';
import type { Machine } from '../machine.ts';
import { median, percentile, spreadOf, type Spread } from '../statistics.ts';
import type { ContenderName } from './contender-names.ts';
import type { BacklogRun, ContenderResult, FollowRun, ProjectingResult, RateResult } from './result.ts';

/** A contender's runs, one for each round. */
export type Measured = Pick<ContenderResult, 'name' | 'title' | 'organizations' | 'entities' | 'runs'>;

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
    recordsPerSecond: spread(({ records, seconds }) => records / seconds),
    processorSecondsPerMillion: spread((run) => perMillion(run.processorSeconds, run)),
    storeProcessorSecondsPerMillion: spread((run) => perMillion(run.storeProcessorSeconds, run)),
    peakMegabytes: spread((run) => run.peakMegabytes),
    writesPerRecord: spread(({ writes, records }) => (writes === null ? null : writes / records)),
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
    writesPerEvent: spreadOf(runs.map(({ writesPerEvent }) => writesPerEvent)),
    samples: runs.reduce((total, { latenciesMs }) => total + latenciesMs.length, 0),
    unseen: runs.reduce((total, { unseen }) => total + unseen, 0),
  };
}

function goalsOf(contenders: ContenderResult[], live: ProjectingResult['live']): Goal[] {
  const runsOf = (name: ContenderName) => contenders.find((contender) => contender.name === name)?.runs ?? [];
  // Round by round, so that other load on the machine affects both.
  const ratio = (above: ContenderName, below: ContenderName) => {
    const [a, b] = [runsOf(above).map(rate), runsOf(below).map(rate)];
    const ratios = a.flatMap((value, round) => value / (b[round] ?? NaN)).filter(Number.isFinite);
    return ratios.length > 0 ? median(ratios) : null;
  };
  const peaks = contenders.flatMap(({ name, peakMegabytes }) =>
    name.startsWith('projector') && peakMegabytes ? [peakMegabytes.median] : [],
  );
  const p99 = live?.rates.find(({ eventsPerSecond }) => eventsPerSecond === 1_000)?.p99Ms ?? null;
  return [
    atLeast('records/s ÷ bulk-write, reaching for 0.8', 0.5, '×', ratio('projector-3', 'bulk-write')),
    atLeast('records/s ÷ connector', 1, '×', ratio('projector-3', 'connector')),
    atLeast('records/s ÷ update-one', 10, '×', ratio('projector-3', 'update-one')),
    atMost('records/s with 3 organizations ÷ with 250', 1.2, '×', ratio('projector-3', 'projector-250')),
    atMost('live p99 at 1,000 events/s', 500, ' ms', medianOf(p99)),
    atMost('peak resident memory over a backlog', 256, ' MB', peaks.length > 0 ? Math.max(...peaks) : null),
    atMost('idle, of one core', 2, ' %', medianOf(live?.idlePercent ?? null)),
  ];
}

const rate = ({ records, seconds }: BacklogRun) => records / seconds;
const medianOf = (spread: Spread | null) => spread?.median ?? null;
