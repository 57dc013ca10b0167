import type { Generation } from '../../shared/control/generations.ts';
import type { HoldCause } from '../../shared/control/hold-causes.ts';
import { isSilent, type Progress } from '../../shared/control/progress.ts';
import { loadEnds } from '../../shared/control/registry.ts';
import { parsePartitionKey, partitionKey } from '../../shared/control/topic-partition.ts';
import type { LogState } from '../../shared/kafka/log-client.ts';
import type { Member, Owner } from '../../shared/kafka/group-members.ts';

/** The progress of one partition, or the sums over the partitions of a topic. */
export type TopicFacts = {
  topic: string;
  /** Of the records up to `end`. */
  position: number;
  /** The high watermark, the last known one if the log cannot be read; while a build loads, the end of its load. */
  end: number;
  /**
   * In records. Null if a log cannot be read, or if the topic was deleted and created again: the positions belong to the
   * old topic.
   */
  lag: number | null;
  /** Of the partition with the longest lag; null if a partition has applied nothing. */
  lagSeconds: number | null;
  recordsPerSecond: number;
  /** Null while the lag does not fall. */
  secondsLeft: number | null;
  /** Why it does not follow, of the partition with the longest lag that has a cause; null if none has. */
  cause: HoldCause | null;
  /** When a projector first saw the next record of that partition; null if it has seen none. */
  waitingSince: Date | null;
};

export type PartitionFacts = TopicFacts & {
  partition: number;
  /** The offset of the next record to apply. */
  applied: number;
  /** Null if no member of the group has it, or if Kafka did not answer. */
  owner: Owner | null;
  /** The version of the projector that saved its progress last; null if none has. */
  release: string | null;
};

type Given = {
  generation: Generation;
  topics: string[];
  progress: Progress[];
  log: LogState | null;
  members: Member[] | null;
  recreated: string[];
  lagOf: (completeTo: Date | null) => number | null;
  earlier: { partitions: PartitionFacts[]; seconds: number } | null;
};

/** The partitions of the log, and those with progress: the log of a deleted topic has none. */
export function measurePartitions(given: Given): { partitions: PartitionFacts[]; recordsAfterLoad: number } {
  const { generation, topics, progress, log, recreated, earlier, lagOf } = given;
  const targets = targetOffsets(generation, log);
  const owners =
    given.members &&
    new Map(
      given.members.flatMap(({ partitions, ...owner }) =>
        partitions.map((key): [string, Owner] => [key, owner]),
      ),
    );
  const saved = new Map(
    progress.filter(({ topic }) => topics.includes(topic)).map((one) => [partitionKey(one), one]),
  );
  const before = new Map(earlier?.partitions.map((one) => [partitionKey(one), one]));
  const partitions = [...new Set([...(log?.partitions ?? []), ...saved.keys()])].map(
    (key): PartitionFacts => {
      const { topic, partition } = parsePartitionKey(key);
      const own = saved.get(key);
      const isKnown = targets.has(key) && !recreated.includes(topic);
      const applied = own?.position ?? 0;
      const end = targets.get(key) ?? own?.end ?? 0;
      const position = isKnown ? Math.min(end, applied) : applied;
      const lag = isKnown ? end - position : null;
      const then = before.get(key);
      const fallsBy =
        typeof then?.lag !== 'number' || lag === null ? 0 : (then.lag - lag) / (earlier?.seconds ?? 1);
      return {
        topic,
        partition,
        applied,
        position,
        end,
        lag,
        lagSeconds: lagOf(own?.completeTo ?? null),
        recordsPerSecond: then ? Math.max(0, (position - then.position) / (earlier?.seconds ?? 1)) : 0,
        secondsLeft: lag === 0 ? 0 : lag !== null && fallsBy > 0 ? Math.ceil(lag / fallsBy) : null,
        cause: causeOf({ ...given, owners }, key, own, lag),
        waitingSince: own?.waitingSince ?? null,
        owner: owners?.get(key) ?? null,
        release: own?.release ?? null,
      };
    },
  );
  partitions.sort((a, b) => a.topic.localeCompare(b.topic) || a.partition - b.partition);
  const recordsAfterLoad = [...(log?.ends ?? [])].reduce(
    (sum, [key, { end }]) => sum + end - (targets.get(key) ?? 0),
    0,
  );
  return { partitions, recordsAfterLoad };
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
  if (!log || (log.partitions.includes(key) && !log.ends.has(key))) return 'unreadable';
  if (owners && !owners.has(key)) return 'unassigned';
  if (lag === 0) return null;
  const latestMs = Math.max(0, ...progress.map(({ updatedAt }) => updatedAt.getTime()));
  const isLeft = own && isSilent(own.updatedAt, new Date(latestMs));
  return isLeft ? (owners ? 'starting' : 'unassigned') : (own?.cause ?? null);
}

export function sumByTopic(partitions: PartitionFacts[]): TopicFacts[] {
  const sum = (some: PartitionFacts[], field: 'position' | 'end' | 'recordsPerSecond') =>
    some.reduce((total, one) => total + one[field], 0);
  const orNull = (some: (number | null)[], merge: (known: number[]) => number) =>
    some.includes(null) ? null : merge(some as number[]);
  return [...Map.groupBy(partitions, ({ topic }) => topic)].map(([topic, some]) => {
    const [slowest] = some.filter(({ cause }) => cause !== null).toSorted(byLag);
    return {
      topic,
      position: sum(some, 'position'),
      end: sum(some, 'end'),
      lag: orNull(
        some.map(({ lag }) => lag),
        (lags) => lags.reduce((a, b) => a + b, 0),
      ),
      lagSeconds: orNull(
        some.map((one) => one.lagSeconds),
        (seconds) => Math.max(...seconds),
      ),
      recordsPerSecond: sum(some, 'recordsPerSecond'),
      secondsLeft: orNull(
        some.map((one) => one.secondsLeft),
        (seconds) => Math.max(...seconds),
      ),
      cause: slowest?.cause ?? null,
      waitingSince: slowest?.waitingSince ?? null,
    };
  });
}

/** The longest lag first; null counts as the longest. */
export const byLag = (a: TopicFacts, b: TopicFacts): number =>
  (b.lagSeconds ?? Infinity) - (a.lagSeconds ?? Infinity) || (b.lag ?? Infinity) - (a.lag ?? Infinity);
