import type { Admin } from 'kafkajs';
import type { Db, Filter, MongoClient } from 'mongodb';
import { kinds } from '../../../shared/documents/document.ts';
import { dayMs } from '../../../shared/documents/retention.ts';
import { collectionOf, generationDatabase } from '../../../shared/store/connection.ts';
import type { Generation, GenerationRegistry } from '../../../shared/store/generations.ts';
import { progressOf, watermark, type Progress } from '../../../shared/store/progress.ts';
import { endOffsets } from '../consumer/progress.ts';
import { deadLettersOf, type DeadLetter } from '../dead-letters/collection.ts';
import { parsePartitionKey, partitionKey } from '../kafka/topic-partition.ts';
import type { StoredDocument } from '../materialize/store.ts';
import { isFollowed, secondsBehind, silentAfterSeconds } from './freshness.ts';
import { loadEndsOf } from './load-ends.ts';
import { isBuild } from './transitions.ts';

export type OperatorDeps = {
  admin: Admin;
  mongo: MongoClient;
  control: Db;
  config: {
    DATABASE_NAME: string;
    CONSUMER_GROUP: string;
    LATENESS_ALLOWANCE_SECONDS: number;
    REBUILD_DAYS_MAX: number;
  };
  /** The entity topics that exist. */
  topics: string[];
  /** The time of the store, by which everything is judged. */
  now: () => Promise<Date>;
  /** The user and host, for the history. */
  by: string;
  /** Prints a line of progress. */
  report: (line: string) => void;
};

/** Sums over the partitions of a topic. `behindSeconds` is that of the partition which is furthest behind. */
export type TopicProgress = {
  topic: string;
  position: number;
  /** The end of the log; while a build loads, the end of what it loads first. */
  end: number;
  lag: number;
  behindSeconds: number | null;
};

/** How far a generation has come, at one moment. */
export type Measured = {
  number: number;
  state: Generation['state'];
  /** The state, or what stands in its way: lagging, failing, held, paused. */
  condition: Generation['state'] | 'lagging' | 'failing' | 'held' | 'paused';
  projectionVersion: number;
  watermark: Date | null;
  /** How far the watermark is behind the clock, less the lateness allowance; null before there is one. */
  behindSeconds: number | null;
  topics: TopicProgress[];
  lag: number;
  /** Records that wait until a build is loaded: those published since its start. */
  afterLoad: number;
  /** When a projector last saved progress. */
  savedAt: Date | null;
  /** Dead letters that the active generation does not have. */
  rejects: { id: string; reason: string; detail: string }[];
  rejectCount: number;
  /** Entities whose change is still being written to the documents that embed them. */
  fanOuts: number;
  /** What holds it up, in words. */
  waitsFor: string[];
};

/** A ready generation that is behind by more than this is lagging, in seconds. */
export const laggingAfterSeconds = 30;
const rejectsShown = 10;

/** The offsets of each partition in the log, by `<topic>/<partition>`. */
export type LogOffsets = Map<string, { low: number; end: number }>;

export const logOffsets = ({ admin, topics }: OperatorDeps): Promise<LogOffsets> => endOffsets(admin, topics);

/** Measures every generation that is not gone. */
export async function measureAll(
  deps: OperatorDeps,
  registry: GenerationRegistry,
  offsets: LogOffsets,
): Promise<Measured[]> {
  return Promise.all(
    registry.generations
      .filter(({ state }) => state !== 'dropped')
      .map((one) => measure(deps, registry, one, offsets)),
  );
}

export async function measure(
  deps: OperatorDeps,
  registry: GenerationRegistry,
  generation: Generation,
  offsets: LogOffsets,
): Promise<Measured> {
  const { control, mongo, config } = deps;
  const { number } = generation;
  const now = await deps.now();
  const database = generationDatabase(mongo, config.DATABASE_NAME, number);
  const completeTo = await watermark(control, number);
  const rejected = rejectedOnlyBy(
    number,
    registry.generation,
    await settledTo(deps, registry, completeTo, now),
  );
  const [progress, rejects, rejectCount, fanOuts] = await Promise.all([
    progressOf(control).find({ generation: number }).toArray(),
    deadLettersOf(control).find(rejected).sort({ _id: 1 }).limit(rejectsShown).toArray(),
    deadLettersOf(control).countDocuments(rejected),
    countFanOuts(database),
  ]);
  const ends = endsOf(generation, offsets);
  const topics = topicProgress(deps, progress, ends, now);
  const savedAt = progress.reduce<Date | null>(
    (latest, { updatedAt }) => (latest && latest > updatedAt ? latest : updatedAt),
    null,
  );
  // The watermark is 1970 until every partition has applied something.
  const behindSeconds = completeTo && completeTo.getTime() > 0 ? behindOf(deps, completeTo, now) : null;
  const measured = {
    ...{ number, state: generation.state, projectionVersion: generation.projectionVersion },
    ...{ watermark: completeTo, behindSeconds, topics, savedAt, rejectCount, fanOuts },
    lag: topics.reduce((sum, { lag }) => sum + lag, 0),
    afterLoad: [...offsets].reduce((sum, [key, { end }]) => sum + end - (ends.get(key) ?? 0), 0),
    rejects: rejects.map(({ _id: id, reason, detail }) => ({ id, reason, detail })),
  };
  const waitsFor = [...reasonsToWait(deps, generation, measured, now), ...shorterLogs(generation, offsets)];
  return { ...measured, condition: conditionOf(generation, measured), waitsFor };
}

const behindOf = ({ config }: OperatorDeps, completeTo: Date, now: Date): number =>
  secondsBehind(completeTo, now, config.LATENESS_ALLOWANCE_SECONDS * 1_000);

/** Where the step in progress ends in each partition, by `<topic>/<partition>`. */
function endsOf(generation: Generation, offsets: LogOffsets): Map<string, number> {
  const loadEnds = loadEndsOf(generation);
  const endOf = (key: string, end: number) => (loadEnds ? Math.min(end, loadEnds.get(key) ?? 0) : end);
  return new Map([...offsets].map(([key, { end }]) => [key, endOf(key, end)]));
}

/** A topic that was created again since the start: its load cannot end. */
const shorterLogs = (generation: Generation, offsets: LogOffsets): string[] =>
  [...(loadEndsOf(generation) ?? [])]
    .map(([key, loadEnd]) => ({ key, loadEnd, end: offsets.get(key)?.end ?? 0 }))
    .filter(({ loadEnd, end }) => end < loadEnd)
    .map(
      ({ key, loadEnd, end }) =>
        `${key} is to be loaded up to offset ${loadEnd}, but ends at ${end}: if its topic was deleted and created again, ` +
        `the load cannot end: rebuild drop ${generation.number}, and start another`,
    );

function topicProgress(
  deps: OperatorDeps,
  progress: Progress[],
  ends: ReadonlyMap<string, number>,
  now: Date,
): TopicProgress[] {
  const recorded = new Map(progress.map((one) => [partitionKey(one), one]));
  const byTopic = new Map<string, TopicProgress>();
  for (const [key, end] of ends) {
    const { topic } = parsePartitionKey(key);
    const saved = recorded.get(key);
    const position = Math.min(end, saved?.position ?? 0);
    const sum = byTopic.get(topic) ?? { topic, position: 0, end: 0, lag: 0, behindSeconds: 0 };
    const behind = saved && saved.completeTo.getTime() > 0 ? behindOf(deps, saved.completeTo, now) : null;
    byTopic.set(topic, {
      ...{ topic, position: sum.position + position, end: sum.end + end },
      lag: sum.lag + end - position,
      behindSeconds:
        behind === null || sum.behindSeconds === null ? null : Math.max(sum.behindSeconds, behind),
    });
  }
  return [...byTopic.values()].sort((a, b) => (a.topic < b.topic ? -1 : 1));
}

/**
 * Dead letters of a generation that the active one does not have. Each counts once both have applied everything up to its
 * instant: one side may come to a record first, and a deletion that erases a dead letter may be still to come.
 */
const rejectedOnlyBy = (number: number, active: number, settledTo: Date): Filter<DeadLetter> => ({
  generations: number === active ? { $in: [] } : { $eq: number, $ne: active },
  firstAt: { $lt: settledTo },
});

/** Up to when both have applied everything; only the one measured, where nobody follows the active one. */
async function settledTo(
  { control }: OperatorDeps,
  { generation: active }: GenerationRegistry,
  own: Date | null,
  now: Date,
): Promise<Date> {
  const [served, followed] = await Promise.all([
    watermark(control, active),
    isFollowed(control, active, now),
  ]);
  const both = followed ? [own, served] : [own];
  return new Date(Math.min(...both.map((completeTo) => completeTo?.getTime() ?? 0)));
}

async function countFanOuts(database: Db): Promise<number> {
  const counts = await Promise.all(
    kinds.map((kind) =>
      collectionOf<StoredDocument>(database, kind).countDocuments({ fanOutCursor: { $exists: true } }),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

type Facts = Omit<Measured, 'condition' | 'waitsFor'>;

function conditionOf(generation: Generation, facts: Facts): Measured['condition'] {
  if (isBuild(generation) && facts.rejectCount > 0) return 'failing';
  if (generation.isPaused) return 'paused';
  if (generation.hold) return 'held';
  const isFollowed = generation.state === 'ready' || generation.state === 'standby';
  if (isFollowed && (facts.behindSeconds ?? Infinity) > laggingAfterSeconds) return 'lagging';
  return generation.state;
}

function reasonsToWait({ config }: OperatorDeps, generation: Generation, facts: Facts, now: Date): string[] {
  const { number, hold, isPaused } = generation;
  const silentSeconds = facts.savedAt ? (now.getTime() - facts.savedAt.getTime()) / 1_000 : Infinity;
  return [
    ...(silentSeconds > silentAfterSeconds
      ? [
          `no projector is running on it${facts.savedAt ? ` since ${facts.savedAt.toISOString()}` : ''}: ` +
            `GENERATION=${number} npm run projector`,
        ]
      : []),
    ...(generation.state === 'standby' &&
    (facts.behindSeconds ?? Infinity) > (config.REBUILD_DAYS_MAX * dayMs) / 1_000
      ? [
          `it is behind by more than REBUILD_DAYS_MAX (${config.REBUILD_DAYS_MAX}) days, so that erasures may never reach ` +
            `it: rebuild drop ${number}`,
        ]
      : []),
    ...(isPaused ? [`it is paused: rebuild resume ${number}`] : []),
    ...(hold ? [`it is held by ${hold.by} since ${hold.at.toISOString()}: ${hold.reason}`] : []),
    ...(facts.rejectCount > 0
      ? [`${facts.rejectCount} records are dead letters here, but not in the active generation`]
      : []),
    ...(facts.fanOuts > 0
      ? [`${facts.fanOuts} changes are being written to the documents that embed them`]
      : []),
  ];
}
