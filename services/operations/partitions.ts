import type { Generation } from '../../shared/control/generations.ts';
import type { HoldCause } from '../../shared/control/hold-causes.ts';
import type { Projector } from '../../shared/control/processes.ts';
import { isSilent, type Progress } from '../../shared/control/progress.ts';
import { loadEnds } from '../../shared/control/registry.ts';
import {
  parsePartitionKey,
  partitionKey,
  type TopicPartition,
} from '../../shared/control/topic-partition.ts';
import type { Member, Owner } from '../../shared/kafka/group-members.ts';
import type { LogState } from '../../shared/kafka/log-client.ts';

/** The progress of one partition, or the sums over the partitions of a topic. */
export type TopicFacts = {
  topic: string;
  /** How many of the records up to `end` are applied. */
  position: number;
  /** The high watermark, the last known one if the log cannot be read; while a build loads, the end of its load. */
  end: number;
  /**
   * The number of records to apply. Null if a log cannot be read, or if the topic was deleted and created again: the
   * positions belong to the old topic.
   */
  lag: number | null;
  /** The lag in seconds, the longest one of a topic; null if a partition has applied nothing. */
  lagSeconds: number | null;
  recordsPerSecond: number;
  /** Null while the lag does not fall. */
  secondsLeft: number | null;
  /** Why its records wait; for a topic, the cause at its slowest partition with a cause. Null without a cause. */
  cause: HoldCause | null;
  /** When a projector first saw the next record of that partition; null before that. */
  waitingSince: Date | null;
  /** How long a quota of Kafka makes the projector wait for the records, in milliseconds; null without a quota. */
  throttledMs: number | null;
};

export type PartitionFacts = TopicFacts & {
  partition: number;
  /** The offset of the next record to apply. */
  applied: number;
  /** Null if no member of the group has it, or if Kafka did not answer. */
  owner: Owner | null;
  /**
   * The version of the projector that last saved the partition's progress; null before the first save, or if unknown.
   */
  release: string | null;
};

type Given = {
  generation: Generation;
  topics: string[];
  progress: Progress[];
  log: LogState | null;
  members: Member[] | null;
  recreated: string[];
  /** The projectors that follow the generation, or did lately. */
  projectors: Projector[];
  lagOf: (completeTo: Date | null) => number | null;
  earlier: { partitions: PartitionFacts[]; seconds: number } | null;
};

type Measured = {
  partitions: PartitionFacts[];
  /** Records that a build applies after its load, because they were published after its start. */
  recordsAfterLoad: number;
};

/** The partitions of the log, and the partitions with progress, because a deleted topic has no log. */
export function measurePartitions(given: Given): Measured {
  const { generation, topics, progress, log, recreated, earlier, lagOf } = given;
  const targets = targetOffsets(generation, log);
  const owned = given.members?.flatMap(({ partitions, memberId, clientId, host }) =>
    partitions.map((key): [string, Owner] => [key, { memberId, clientId, host }]),
  );
  const owners = owned ? new Map(owned) : null;
  const saved = new Map(
    progress.filter(({ topic }) => topics.includes(topic)).map((one) => [partitionKey(one), one]),
  );
  const releases = new Map(given.projectors.map(({ _id, release }) => [_id, release]));
  const elapsed = earlier?.seconds ?? 1;
  const before = new Map(earlier?.partitions.map((one) => [partitionKey(one), one]));
  const partitions = [...new Set([...(log?.partitions ?? []), ...saved.keys()])].map(
    (key): PartitionFacts => {
      const { topic, partition } = parsePartitionKey(key);
      const own = saved.get(key);
      const isKnown = targets.has(key) && !recreated.includes(topic);
      const applied = own?.applied.position ?? 0;
      const end = targets.get(key) ?? own?.end ?? 0;
      const position = isKnown ? Math.min(end, applied) : applied;
      const lag = isKnown ? end - position : null;
      const then = before.get(key);
      return {
        topic,
        partition,
        applied,
        position,
        end,
        lag,
        lagSeconds: lagOf(own?.completeTo ?? null),
        recordsPerSecond: then ? Math.max(0, (position - then.position) / elapsed) : 0,
        secondsLeft: secondsLeft(lag, then?.lag ?? null, elapsed),
        cause: causeOf({ ...given, owners }, key, own, lag),
        waitingSince: own?.saved?.waitingSince ?? null,
        throttledMs: own?.saved?.throttledMs ?? null,
        owner: owners?.get(key) ?? null,
        release: releases.get(own?.saved?.processId ?? '') ?? null,
      };
    },
  );
  partitions.sort((a, b) => a.topic.localeCompare(b.topic) || a.partition - b.partition);
  const afterLoad = [...(log?.ends ?? [])].map(([key, { end }]) => end - (targets.get(key) ?? 0));
  return { partitions, recordsAfterLoad: total(afterLoad) };
}

/**
 * The partitions with progress that no longer exist, of topics that do. A broker that does not answer may be the only
 * one that knows a partition.
 */
export function withoutLog<P extends TopicPartition>(
  progress: P[],
  { partitions, unreachable }: Pick<LogState, 'partitions' | 'unreachable'>,
): P[] {
  if (unreachable.length > 0) return [];
  const topics = new Set(partitions.map((key) => parsePartitionKey(key).topic));
  return progress.filter((one) => topics.has(one.topic) && !partitions.includes(partitionKey(one)));
}

/** How long a lag lasts that falls as it did in the last `elapsed` seconds; null if it did not fall, or is unknown. */
function secondsLeft(lag: number | null, before: number | null, elapsed: number): number | null {
  if (lag === 0) return 0;
  if (lag === null || before === null) return null;
  const fallsBy = (before - lag) / elapsed;
  return fallsBy > 0 ? Math.ceil(lag / fallsBy) : null;
}

/** While a build loads, the load ends; afterwards the log ends. By `<topic>/<partition>`. */
function targetOffsets(generation: Generation, log: LogState | null): Map<string, number> {
  const load = loadEnds(generation);
  return new Map(
    [...(log?.ends ?? [])].map(([key, { end }]) => [key, load ? Math.min(end, load.get(key) ?? 0) : end]),
  );
}

/** The saved cause, unless the log cannot be read, or no projector applies the partition. */
function causeOf(
  { log, owners, progress }: Pick<Given, 'log' | 'progress'> & { owners: Map<string, Owner> | null },
  key: string,
  own: Progress | undefined,
  lag: number | null,
): HoldCause | null {
  if (!log?.ends.has(key)) return 'unreadable';
  if (owners && !owners.has(key)) return 'unassigned';
  if (lag === 0) return null;
  const latestMs = Math.max(0, ...progress.map(({ updatedAt }) => updatedAt.getTime()));
  const isLeft = own && isSilent(own.updatedAt, new Date(latestMs));
  if (!isLeft) return own?.saved?.cause ?? null;
  return owners ? 'starting' : 'unassigned';
}

const total = (values: number[]) => values.reduce((sum, value) => sum + value, 0);
const max = (values: number[]) => Math.max(...values);

export const sumByTopic = (partitions: PartitionFacts[]): TopicFacts[] =>
  [...Map.groupBy(partitions, ({ topic }) => topic)].map(([topic, some]) => {
    const [slowest] = some.filter(({ cause }) => cause !== null).toSorted(byLag);
    const orNull = (field: 'lag' | 'lagSeconds' | 'secondsLeft', merge: typeof total) => {
      const known = some.flatMap((one) => one[field] ?? []);
      return known.length < some.length ? null : merge(known);
    };
    return {
      topic,
      position: total(some.map(({ position }) => position)),
      end: total(some.map(({ end }) => end)),
      lag: orNull('lag', total),
      lagSeconds: orNull('lagSeconds', max),
      recordsPerSecond: total(some.map((one) => one.recordsPerSecond)),
      secondsLeft: orNull('secondsLeft', max),
      cause: slowest?.cause ?? null,
      waitingSince: slowest?.waitingSince ?? null,
      throttledMs: slowest?.throttledMs ?? null,
    };
  });

/** The longest lag first; null counts as the longest. */
export const byLag = (a: TopicFacts, b: TopicFacts): number =>
  (b.lagSeconds ?? Infinity) - (a.lagSeconds ?? Infinity) || (b.lag ?? Infinity) - (a.lag ?? Infinity);
