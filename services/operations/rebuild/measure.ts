import type { Admin } from 'kafkajs';
import type { Db, Filter, MongoClient } from 'mongodb';
import type { Generation, GenerationRegistry } from '../../../shared/store/generations.ts';
import { progressOf, watermark, type Progress } from '../../../shared/store/progress.ts';
import { deadLettersOf, type DeadLetter } from '../../projector/dead-letters/collection.ts';
import type { LogClient, LogState } from '../../projector/kafka/log-client.ts';
import { parsePartitionKey, partitionKey } from '../../projector/kafka/topic-partition.ts';
import { isFollowed, secondsBehind } from '../../projector/generations/freshness.ts';
import { failuresOf } from '../../projector/generations/last-failure.ts';
import { loadEndsOf, isBuild } from '../../projector/generations/registry.ts';
import { recreatedTopics } from './recreated-topics.ts';
import { another, whyStopped, type Stopped } from './stopped.ts';
import {
  readTombstoneBound,
  tombstoneWarning,
  type TombstoneBound,
} from '../../projector/generations/tombstones.ts';

export type OperatorDeps = {
  admin: Admin;
  log: Pick<LogClient, 'read'>;
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

/** Sums over the partitions of a topic. `behindSeconds` is that of the partition with the largest. */
export type TopicProgress = {
  topic: string;
  position: number;
  /** The end of the log; while a build loads, the end of what it loads first. */
  end: number;
  /** Null if the topic was deleted and created again: its positions mean records of the old one. */
  lag: number | null;
  behindSeconds: number | null;
};

/** How far a generation has come, at one moment. */
export type Measured = {
  number: number;
  state: Generation['state'];
  /** The state, unless it is lagging, failing (a build with dead letters of its own), or has no projector any more. */
  condition: Generation['state'] | 'lagging' | 'failing' | 'stopped';
  /** Why it no longer follows the log; null while it does, and before a projector has ever run. */
  stopped: Stopped | null;
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
  /** Everything else that holds it up or endangers it, in words. */
  waitsFor: string[];
};

/** A ready, active or standby generation that is behind by more than this is lagging, in seconds. */
const laggingAfterSeconds = 30;
const rejectsShown = 10;

/** The offsets of each partition in the log, by `<topic>/<partition>`. */
export type LogOffsets = LogState['ends'];

/** The state of the logs, and how long tombstones are kept. */
export type MeasuredLog = LogState & { tombstones: TombstoneBound | null };

export const logOffsets = async ({ log, topics }: OperatorDeps): Promise<LogOffsets> =>
  (await log.read(topics)).ends;

export async function readLog({ admin, log, topics }: OperatorDeps): Promise<MeasuredLog> {
  const [state, tombstones] = await Promise.all([log.read(topics), readTombstoneBound(admin, topics)]);
  return { ...state, tombstones };
}

/** Measures every generation that is not gone. */
export async function measureAll(deps: OperatorDeps, registry: GenerationRegistry): Promise<Measured[]> {
  const log = await readLog(deps);
  return Promise.all(
    registry.generations
      .filter(({ state }) => state !== 'dropped')
      .map((one) => measure(deps, registry, one, log)),
  );
}

export async function measure(
  deps: OperatorDeps,
  registry: GenerationRegistry,
  generation: Generation,
  log: MeasuredLog,
): Promise<Measured> {
  const { control } = deps;
  const { number } = generation;
  const { ends: offsets } = log;
  const now = await deps.now();
  const completeTo = await watermark(control, number);
  const rejected = rejectedOnlyBy(
    number,
    registry.generation,
    await settledTo(deps, registry, completeTo, now),
  );
  const [progress, rejects, rejectCount, recreated, failure] = await Promise.all([
    progressOf(control).find({ generation: number }).toArray(),
    deadLettersOf(control).find(rejected).sort({ _id: 1 }).limit(rejectsShown).toArray(),
    deadLettersOf(control).countDocuments(rejected),
    recreatedTopics(control, number, log.topicIds),
    failuresOf(control).findOne({ _id: number }),
  ]);
  const ends = endsOf(generation, offsets);
  const topics = topicProgress(deps, progress, ends, { recreated, now });
  const savedAt = progress.reduce<Date | null>(
    (latest, { updatedAt }) => (latest && latest > updatedAt ? latest : updatedAt),
    null,
  );
  // The watermark is 1970 until every partition has applied something.
  const behindSeconds = completeTo && completeTo.getTime() > 0 ? behindOf(deps, completeTo, now) : null;
  const measured = {
    ...{ number, state: generation.state, projectionVersion: generation.projectionVersion },
    ...{ watermark: completeTo, behindSeconds, topics, savedAt, rejectCount },
    stopped: whyStopped(generation, { recreated, failure, savedAt, now }),
    lag: topics.reduce((sum, { lag }) => sum + (lag ?? 0), 0),
    afterLoad: [...offsets].reduce((sum, [key, { end }]) => sum + end - (ends.get(key) ?? 0), 0),
    rejects: rejects.map(({ _id: id, reason, detail }) => ({ id, reason, detail })),
  };
  const tombstones = tombstoneWarning(generation, completeTo, log.tombstones, now);
  const waitsFor = [
    ...reasonsToWait(generation, measured),
    ...shorterLogs(generation, offsets),
    ...(tombstones ? [`${tombstones}: ${another(generation)}`] : []),
  ];
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
        `the load cannot end: ${another(generation)}`,
    );

function topicProgress(
  deps: OperatorDeps,
  progress: Progress[],
  ends: ReadonlyMap<string, number>,
  { recreated, now }: { recreated: string[]; now: Date },
): TopicProgress[] {
  const recorded = new Map(progress.map((one) => [partitionKey(one), one]));
  const byTopic = new Map<string, TopicProgress>();
  for (const [key, end] of ends) {
    const { topic } = parsePartitionKey(key);
    const saved = recorded.get(key);
    const isRecreated = recreated.includes(topic);
    const position = isRecreated ? (saved?.position ?? 0) : Math.min(end, saved?.position ?? 0);
    const sum = byTopic.get(topic) ?? { topic, position: 0, end: 0, lag: 0, behindSeconds: 0 };
    const behind = saved && saved.completeTo.getTime() > 0 ? behindOf(deps, saved.completeTo, now) : null;
    byTopic.set(topic, {
      ...{ topic, position: sum.position + position, end: sum.end + end },
      lag: isRecreated || sum.lag === null ? null : sum.lag + end - position,
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

type Facts = Omit<Measured, 'condition' | 'waitsFor'>;

function conditionOf(generation: Generation, facts: Facts): Measured['condition'] {
  if (facts.stopped) return 'stopped';
  if (isBuild(generation) && facts.rejectCount > 0) return 'failing';
  const isFollowing = ['ready', 'active', 'standby'].includes(generation.state);
  if (isFollowing && (facts.behindSeconds ?? Infinity) > laggingAfterSeconds) return 'lagging';
  return generation.state;
}

function reasonsToWait({ number, state, pace }: Generation, facts: Facts): string[] {
  return [
    ...(state === 'dropping' ? [`it is being dropped; if that was interrupted: rebuild drop ${number}`] : []),
    ...(facts.savedAt || facts.stopped || state === 'dropping'
      ? []
      : [`no projector is running on it: GENERATION=${number} npm run projector`]),
    ...(pace === 0 ? [`its pace is 0: rebuild pace ${number} none`] : []),
    ...(facts.rejectCount > 0
      ? [`${facts.rejectCount} records are dead letters here that the active generation does not have`]
      : []),
  ];
}
