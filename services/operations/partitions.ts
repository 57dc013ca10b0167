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
  /** The high watermark, or the last known one if the log cannot be read. While a build loads: the end of its load. */
  end: number;
  /**
   * The number of records to apply. Null if a log cannot be read, or if the topic was deleted and created again: the
   * positions belong to the old topic.
   */
  lag: number | null;
  /** The lag in seconds; for a topic, the longest of its partitions. Null if a partition has applied nothing. */
  lagSeconds: number | null;
  recordsPerSecond: number;
  /** Null while the lag does not fall. */
  secondsLeft: number | null;
  /** The reason why its records wait; null without one. For a topic: the reason of its slowest waiting partition. */
  cause: HoldCause | null;
  /** When a projector first saw the next record of the partition; null before that. */
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
  /** The version of the projector that last saved the partition's progress; null if it is not known. */
  release: string | null;
};

/** The facts of one generation from which its partitions are measured. */
type GenerationInputs = {
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

type MeasuredPartitions = {
  partitions: PartitionFacts[];
  /** Records that a build applies after its load, because they were published after its start. */
  recordsAfterLoad: number;
};

/** The inputs, indexed by partition. The keys of the maps are `<topic>/<partition>`. */
type IndexedInputs = GenerationInputs & {
  /** The offset up to which each partition has records to apply. */
  targets: Map<string, number>;
  saved: Map<string, Progress>;
  /** Null if Kafka did not answer. */
  owners: Map<string, Owner> | null;
  /** The release of each projector. The keys are the ids of the projectors. */
  releases: Map<string, string>;
  previous: Map<string, PartitionFacts>;
};

/** Measures the partitions of the log, and the partitions with progress: a deleted topic has progress, but no log. */
export function measurePartitions(facts: GenerationInputs): MeasuredPartitions {
  const { log } = facts;
  const indexed = indexByPartition(facts);
  const keys = new Set([...(log?.partitions ?? []), ...indexed.saved.keys()]);
  const partitions = [...keys].map((key) => measurePartition(indexed, key));
  partitions.sort((a, b) => a.topic.localeCompare(b.topic) || a.partition - b.partition);
  let recordsAfterLoad = 0;
  for (const [key, { end }] of log?.ends ?? []) recordsAfterLoad += end - (indexed.targets.get(key) ?? 0);
  return { partitions, recordsAfterLoad };
}

function indexByPartition(facts: GenerationInputs): IndexedInputs {
  const { generation, topics, progress, log, members, projectors, earlier } = facts;
  const topicProgress = progress.filter(({ topic }) => topics.includes(topic));
  return {
    ...facts,
    targets: targetOffsets(generation, log),
    saved: new Map(topicProgress.map((saved) => [partitionKey(saved), saved])),
    owners: members && ownersOf(members),
    releases: new Map(projectors.map(({ _id, release }) => [_id, release])),
    previous: new Map(earlier?.partitions.map((partition) => [partitionKey(partition), partition])),
  };
}

/** The owner of each partition that some member has. */
function ownersOf(members: Member[]): Map<string, Owner> {
  const owners = new Map<string, Owner>();
  for (const { partitions, memberId, clientId, host } of members) {
    for (const key of partitions) owners.set(key, { memberId, clientId, host });
  }
  return owners;
}

function measurePartition(indexed: IndexedInputs, key: string): PartitionFacts {
  const { topic, partition } = parsePartitionKey(key);
  const progress = indexed.saved.get(key);
  const reached = reachedBy(indexed, key, progress);
  return {
    topic,
    partition,
    ...reached,
    lagSeconds: indexed.lagOf(progress?.completeTo ?? null),
    ...paceOf(indexed, key, reached),
    cause: causeOf(indexed, key, progress, reached.lag),
    owner: indexed.owners?.get(key) ?? null,
    ...lastSaveOf(indexed, progress?.saved),
  };
}

type Reached = Pick<PartitionFacts, 'applied' | 'position' | 'end' | 'lag'>;

/** How far the generation has applied a partition, and how far its log goes. */
function reachedBy(
  { targets, recreated }: IndexedInputs,
  key: string,
  progress: Progress | undefined,
): Reached {
  const applied = progress?.applied.position ?? 0;
  const target = targets.get(key);
  const isRecreatedTopic = recreated.includes(parsePartitionKey(key).topic);
  if (target === undefined || isRecreatedTopic)
    return { applied, position: applied, end: target ?? progress?.end ?? 0, lag: null };
  const position = Math.min(target, applied);
  return { applied, position, end: target, lag: target - position };
}

type Pace = Pick<PartitionFacts, 'recordsPerSecond' | 'secondsLeft'>;

/** How fast the partition has been applied since the earlier reading. */
function paceOf({ previous, earlier }: IndexedInputs, key: string, { position, lag }: Reached): Pace {
  const previousFacts = previous.get(key);
  if (!previousFacts || !earlier) return { recordsPerSecond: 0, secondsLeft: secondsLeft(lag, null, 1) };
  return {
    recordsPerSecond: Math.max(0, (position - previousFacts.position) / earlier.seconds),
    secondsLeft: secondsLeft(lag, previousFacts.lag, earlier.seconds),
  };
}

type LastSave = Pick<PartitionFacts, 'waitingSince' | 'throttledMs' | 'release'>;

/** The facts that the projector has saved with the progress of the partition. */
function lastSaveOf({ releases }: IndexedInputs, saved: Progress['saved']): LastSave {
  if (!saved) return { waitingSince: null, throttledMs: null, release: null };
  const { waitingSince, throttledMs = null, processId } = saved;
  return { waitingSince, throttledMs, release: releases.get(processId) ?? null };
}

/**
 * The partitions that no longer exist although their topics do. Returns none while a broker does not answer, because
 * that broker may be the only one that knows a partition.
 */
export function partitionsWithoutLog<P extends TopicPartition>(
  progress: P[],
  { partitions, unreachable }: Pick<LogState, 'partitions' | 'unreachable'>,
): P[] {
  if (unreachable.length > 0) return [];
  const topics = new Set(partitions.map((key) => parsePartitionKey(key).topic));
  return progress.filter((place) => topics.has(place.topic) && !partitions.includes(partitionKey(place)));
}

/** The time until a lag is 0, if it falls as it has fallen so far; null if it has not fallen, or is unknown. */
function secondsLeft(lag: number | null, previousLag: number | null, elapsedSeconds: number): number | null {
  if (lag === 0) return 0;
  if (lag === null || previousLag === null) return null;
  const fallPerSecond = (previousLag - lag) / elapsedSeconds;
  return fallPerSecond > 0 ? Math.ceil(lag / fallPerSecond) : null;
}

/** The ends of the load while a build loads, then the ends of the logs. */
function targetOffsets(generation: Generation, log: LogState | null): Map<string, number> {
  const load = loadEnds(generation);
  const targets = new Map<string, number>();
  for (const [key, { end }] of log?.ends ?? []) {
    targets.set(key, load ? Math.min(end, load.get(key) ?? 0) : end);
  }
  return targets;
}

/** The saved cause, unless the log cannot be read, or no projector applies the partition. */
function causeOf(
  { log, owners, progress }: IndexedInputs,
  key: string,
  partitionProgress: Progress | undefined,
  lag: number | null,
): HoldCause | null {
  if (!log?.ends.has(key)) return 'unreadable';
  if (owners && !owners.has(key)) return 'unassigned';
  if (lag === 0) return null;
  // Projectors save other partitions, but not this one: the saved cause is that of a former owner.
  const latestMs = Math.max(0, ...progress.map(({ updatedAt }) => updatedAt.getTime()));
  const isAbandoned =
    partitionProgress !== undefined && isSilent(partitionProgress.updatedAt, new Date(latestMs));
  if (!isAbandoned) return partitionProgress?.saved?.cause ?? null;
  return owners ? 'starting' : 'unassigned';
}

const total = (values: number[]) => values.reduce((sum, value) => sum + value, 0);
const max = (values: number[]) => Math.max(...values);

/** Merges values with `merge`, `total` or `max`; null if one of them is not known. */
function mergeKnown(values: (number | null)[], merge: (known: number[]) => number): number | null {
  const known = values.filter((value) => value !== null);
  return known.length < values.length ? null : merge(known);
}

/** The sums over the partitions of each topic. A sum is null if one of its partitions has no known value. */
export function sumByTopic(partitions: PartitionFacts[]): TopicFacts[] {
  const byTopic = Map.groupBy(partitions, ({ topic }) => topic);
  return [...byTopic].map(([topic, topicPartitions]) => sumTopic(topic, topicPartitions));
}

function sumTopic(topic: string, partitions: PartitionFacts[]): TopicFacts {
  const lags = partitions.map((partition) => partition.lag);
  const lagTimes = partitions.map((partition) => partition.lagSeconds);
  const timesLeft = partitions.map((partition) => partition.secondsLeft);
  const [slowestWaiting] = partitions.filter(({ cause }) => cause !== null).toSorted(byLag);
  return {
    topic,
    position: total(partitions.map(({ position }) => position)),
    end: total(partitions.map(({ end }) => end)),
    lag: mergeKnown(lags, total),
    lagSeconds: mergeKnown(lagTimes, max),
    recordsPerSecond: total(partitions.map(({ recordsPerSecond }) => recordsPerSecond)),
    secondsLeft: mergeKnown(timesLeft, max),
    cause: slowestWaiting?.cause ?? null,
    waitingSince: slowestWaiting?.waitingSince ?? null,
    throttledMs: slowestWaiting?.throttledMs ?? null,
  };
}

/** The longest lag first; null counts as the longest. */
export const byLag = (a: TopicFacts, b: TopicFacts): number =>
  (b.lagSeconds ?? Infinity) - (a.lagSeconds ?? Infinity) || (b.lag ?? Infinity) - (a.lag ?? Infinity);
