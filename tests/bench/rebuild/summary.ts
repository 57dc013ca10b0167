import { atLeast, atMost, type Goal } from '../goal.ts';
import { median, percentile, spreadOf } from '../statistics.ts';
import { rebuildNames, type RebuildName } from './names.ts';
import type { BesideRun, RebuildResult, RebuildRow, Round } from './result.ts';

const titles: Record<RebuildName, string> = {
  'bulk-write': 'kafkajs `eachBatch` + unguarded `bulkWrite`, no joins, nothing beside it',
  'bulk-write-beside': 'the same, beside the live side',
  projector: 'this projector, all joins, nothing beside it',
  rebuild: 'a rebuild: this projector, all joins, beside the live side',
  'one-by-one': "the live side's projector, one event at a time",
};

/** Computes medians and spreads, and compares them with the goals. */
export function summarize(
  measured: Pick<RebuildResult, 'startedAt' | 'quick' | 'machine' | 'rounds'>,
): RebuildResult {
  const { rounds } = measured;
  const builds = rounds.map(({ rebuild }) => rebuild);
  return {
    benchmark: 'rebuild',
    ...measured,
    rows: rebuildNames.map((name) => rowOf(name, rounds)),
    servedMegabytes: spreadOf(builds.map(({ disk }) => disk?.servedMegabytes ?? null)),
    buildMegabytes: spreadOf(builds.map(({ disk }) => disk?.buildMegabytes ?? null)),
    liveBehind: spreadOf(builds.map(({ liveBehind }) => liveBehind)),
    verifiedPerSecond: spreadOf(builds.map(({ verified, verifySeconds }) => verified / verifySeconds)),
    goals: goalsOf(rounds),
  };
}

function rowOf(name: RebuildName, rounds: Round[]): RebuildRow {
  const backlogs = name === 'one-by-one' ? [] : rounds.map((round) => round[name]);
  const besides = rounds.flatMap((round) =>
    name === 'rebuild' || name === 'bulk-write-beside' ? [round[name]] : [],
  );
  const perMillion = (seconds: number | null, records: number) =>
    seconds === null ? null : (seconds / records) * 1e6;
  return {
    name,
    title: titles[name],
    records: median(rounds.map((round) => recordsOf(round, name))),
    recordsPerSecond: spreadOf(rounds.map((round) => rateOf(round, name))),
    processorSecondsPerMillion: spreadOf(
      backlogs.map((run) => perMillion(run.processorSeconds, run.records)),
    ),
    storeProcessorSecondsPerMillion: spreadOf(
      backlogs.map((run) => perMillion(run.storeProcessorSeconds, run.records)),
    ),
    peakMegabytes: spreadOf(backlogs.map((run) => run.peakMegabytes)),
    readerP99BeforeMs: spreadOf(besides.map(({ beforeMs }) => percentile(beforeMs, 0.99))),
    readerP99DuringMs: spreadOf(besides.map(({ duringMs }) => percentile(duringMs, 0.99))),
  };
}

const recordsOf = (round: Round, name: RebuildName): number =>
  name === 'one-by-one' ? round[name].events : round[name].records;

const rateOf = (round: Round, name: RebuildName): number => recordsOf(round, name) / round[name].seconds;

/** Ratios are of figures of the same round, so that other load on the machine affects both. */
function goalsOf(rounds: Round[]): Goal[] {
  const ofRebuild = (name: RebuildName) =>
    medianOf(rounds.map((round) => rateOf(round, 'rebuild') / rateOf(round, name)));
  const p99 = (times: keyof Pick<BesideRun, 'beforeMs' | 'duringMs'>, { rebuild }: Round) =>
    percentile(rebuild[times], 0.99) ?? NaN;
  return [
    atLeast('rebuild ÷ bulk-write, reaching for 0.8', 0.5, '×', ofRebuild('bulk-write')),
    atLeast('rebuild ÷ bulk-write beside the live side', 0.5, '×', ofRebuild('bulk-write-beside')),
    atLeast('rebuild ÷ live, one event at a time', 5, '×', ofRebuild('one-by-one')),
    atMost(
      "the reader's p99 during the rebuild ÷ before",
      2,
      '×',
      medianOf(rounds.map((round) => p99('duringMs', round) / p99('beforeMs', round))),
    ),
  ];
}

const medianOf = (values: number[]): number | null => {
  const known = values.filter(Number.isFinite);
  return known.length > 0 ? median(known) : null;
};
