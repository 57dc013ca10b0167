import type { Filter } from 'mongodb';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import type { Generation, GenerationRegistry } from '../../../shared/control/generations.ts';
import { progressOf, watermark, type Progress } from '../../../shared/control/progress.ts';
import { deadLettersOf, type DeadLetter } from '../../../shared/control/dead-letters.ts';
import { isFollowed, lagSeconds } from '../../../shared/control/freshness.ts';
import { failuresOf } from '../../../shared/control/failures.ts';
import { loadEnds } from '../../../shared/control/registry.ts';
import { tombstoneWarning } from '../../projector/generations/tombstones.ts';
import { parsePartitionKey, partitionKey } from '../../../shared/control/topic-partition.ts';
import { commandsIn } from '../deployment.ts';
import { readLog, type LogOffsets, type MeasuredLog, type OperatorDeps } from './deps.ts';
import { recreatedTopics, replaceAdvice, whyStopped, type Stopped } from './stopped.ts';
import { neverStarted, rejectsText } from './texts.ts';
import { isBuild } from './transitions.ts';

/** The progress of one partition. The fields are those of its topic. */
export type PartitionProgress = TopicProgress & { partition: number };

/** Sums over the partitions of a topic. */
export type TopicProgress = {
  topic: string;
  position: number;
  /** The end of the log, the last known one if the log cannot be read; while a build loads, the end of its load. */
  end: number;
  /**
   * In records. Null if a log cannot be read, or if the topic was deleted and created again: the positions belong to the
   * old topic.
   */
  lag: number | null;
  /** Of the partition with the longest lag; null if a partition has applied nothing. */
  lagSeconds: number | null;
};

/** The progress of a generation at one moment. */
export type Measured = {
  number: number;
  state: Generation['state'];
  /** The state, unless the generation is lagging, failing (a build with dead letters of its own) or stopped. */
  condition: Generation['state'] | 'lagging' | 'failing' | 'stopped';
  /** Why no projector follows it; null while one does, and before the first one has run. */
  stopped: Stopped | null;
  projectionVersion: number;
  watermark: Date | null;
  /** The lag of the watermark, less the lateness allowance; null before there is a watermark. */
  lagSeconds: number | null;
  topics: TopicProgress[];
  partitions: PartitionProgress[];
  /** In records. */
  lag: number;
  /** Records that a build applies after its load, because they were published after its start. */
  afterLoad: number;
  /** When a projector last saved progress. */
  savedAt: Date | null;
  /** The first dead letters that the active generation does not have. */
  rejects: { id: string; reason: string; detail: string }[];
  rejectCount: number;
  /** Everything else that delays or endangers the generation, in words. */
  waitsFor: string[];
};

/** From this lag on, in seconds, a ready, active or standby generation is lagging. */
const laggingAfterSeconds = 30;
const rejectsShown = 10;

/** Measures every generation that is not dropped. */
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
  const { number, state, projectionVersion } = generation;
  const now = await deps.now();
  const completeTo = await watermark(control, number);
  const rejected = await ownRejects(deps, registry, number, { completeTo, now });
  const [progress, rejects, rejectCount, recreated, failure] = await Promise.all([
    progressOf(control).find({ generation: number }).toArray(),
    deadLettersOf(control).find(rejected).sort({ _id: 1 }).limit(rejectsShown).toArray(),
    deadLettersOf(control).countDocuments(rejected),
    recreatedTopics(control, number, log.topicIds),
    failuresOf(control).findOne({ _id: number }),
  ]);
  const ends = stepEnds(generation, log.ends);
  const partitions = partitionProgress(deps, { progress, ends, log, recreated, now });
  const topics = topicProgress(partitions);
  const savedAt = progress.reduce<Date | null>(
    (latest, { updatedAt }) => (latest && latest > updatedAt ? latest : updatedAt),
    null,
  );
  const restart = commandsIn[deps.config.DEPLOYMENT].projector(number);
  const measured = {
    number,
    state,
    projectionVersion,
    watermark: completeTo,
    lagSeconds: lagOf(deps, completeTo, now),
    topics,
    partitions,
    savedAt,
    rejectCount,
    stopped: whyStopped(generation, { recreated, failure, savedAt, now, restart }),
    lag: topics.reduce((sum, { lag }) => sum + (lag ?? 0), 0),
    afterLoad: [...log.ends].reduce((sum, [key, { end }]) => sum + end - (ends.get(key) ?? 0), 0),
    rejects: rejects.map(({ _id: id, reason, detail }) => ({ id, reason, detail })),
  };
  const tombstones = tombstoneWarning(generation, completeTo, log.tombstones, now);
  const waitsFor = [
    ...reasonsToWait(generation, measured, restart),
    ...unreadableLogs(log),
    ...unreachableLoadEnds(generation, log),
    ...(tombstones ? [`${tombstones}: ${replaceAdvice(generation)}`] : []),
  ];
  return { ...measured, condition: conditionOf(generation, measured), waitsFor };
}

/** A watermark of 1970 means that a partition has applied nothing. */
const lagOf = ({ config }: OperatorDeps, completeTo: Date | null, now: Date): number | null =>
  completeTo && completeTo.getTime() > 0
    ? lagSeconds(completeTo, now, config.LATENESS_ALLOWANCE_SECONDS * 1_000)
    : null;

/** The end of the present step in each partition, by `<topic>/<partition>`: of the load, or of the log. */
function stepEnds(generation: Generation, offsets: LogOffsets): Map<string, number> {
  const load = loadEnds(generation);
  return new Map([...offsets].map(([key, { end }]) => [key, load ? Math.min(end, load.get(key) ?? 0) : end]));
}

const isUnreadable = ({ partitions, ends }: MeasuredLog, key: string): boolean =>
  !ends.has(key) && partitions.includes(key);

/** The partitions without an answering leader, and the brokers that do not answer. */
function unreadableLogs(log: MeasuredLog): string[] {
  const unreadable = log.partitions.filter((key) => isUnreadable(log, key)).toSorted();
  const others = unreadable.length > 1 ? ` (${unreadable.length} partitions have none)` : '';
  return [
    ...unreadable
      .slice(0, 1)
      .map((key) => `${key}: its log cannot be read, because no leader answers${others}`),
    ...log.unreachable.map(({ broker, error }) => `broker ${broker} does not answer: ${errorMessage(error)}`),
  ];
}

/** A load cannot end if its topic was created again since, because the new log is shorter. */
const unreachableLoadEnds = (generation: Generation, log: MeasuredLog): string[] =>
  [...(loadEnds(generation) ?? [])]
    .filter(([key]) => !isUnreadable(log, key))
    .map(([key, loadEnd]) => ({ key, loadEnd, end: log.ends.get(key)?.end ?? 0 }))
    .filter(({ loadEnd, end }) => end < loadEnd)
    .map(
      ({ key, loadEnd, end }) =>
        `the load of ${key} ends at offset ${loadEnd}, but its log ends at ${end}: if the topic was deleted and created ` +
        `again, the load cannot end: ${replaceAdvice(generation)}`,
    );

/** The partitions of the log, and those with progress: the log of a deleted topic has none. */
function partitionProgress(
  deps: OperatorDeps,
  facts: {
    progress: Progress[];
    ends: ReadonlyMap<string, number>;
    log: MeasuredLog;
    recreated: string[];
    now: Date;
  },
): PartitionProgress[] {
  const recorded = new Map(
    facts.progress.filter(({ topic }) => deps.topics.includes(topic)).map((one) => [partitionKey(one), one]),
  );
  const measured = [...new Set([...facts.log.partitions, ...recorded.keys()])].map((key) => {
    const { topic, partition } = parsePartitionKey(key);
    const saved = recorded.get(key);
    const isKnown = facts.ends.has(key) && !facts.recreated.includes(topic);
    const end = facts.ends.get(key) ?? saved?.end ?? 0;
    const position = isKnown ? Math.min(end, saved?.position ?? 0) : (saved?.position ?? 0);
    const lagSeconds = lagOf(deps, saved?.completeTo ?? null, facts.now);
    return { topic, partition, position, end, lag: isKnown ? end - position : null, lagSeconds };
  });
  return measured.sort((a, b) =>
    a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1,
  );
}

function topicProgress(partitions: PartitionProgress[]): TopicProgress[] {
  const add = (a: number | null, b: number | null) => (a === null || b === null ? null : a + b);
  const later = (a: number | null, b: number | null) => (a === null || b === null ? null : Math.max(a, b));
  const byTopic = new Map<string, TopicProgress>();
  for (const { topic, position, end, lag, lagSeconds } of partitions) {
    const sum = byTopic.get(topic) ?? { topic, position: 0, end: 0, lag: 0, lagSeconds: 0 };
    byTopic.set(topic, {
      topic,
      position: sum.position + position,
      end: sum.end + end,
      lag: add(sum.lag, lag),
      lagSeconds: later(sum.lagSeconds, lagSeconds),
    });
  }
  return [...byTopic.values()];
}

/**
 * Selects the dead letters of a generation that the active one does not have. A dead letter counts only if both are
 * complete up to it: the active generation may still reject the same record, or a deletion may still erase it. If no
 * projector follows the active generation, only this one has to be complete.
 */
async function ownRejects(
  { control }: OperatorDeps,
  { generation: active }: GenerationRegistry,
  number: number,
  { completeTo, now }: { completeTo: Date | null; now: Date },
): Promise<Filter<DeadLetter>> {
  const activeTo = (await isFollowed(control, active, now)) ? await watermark(control, active) : completeTo;
  const comparableUntil = Math.min(completeTo?.getTime() ?? 0, activeTo?.getTime() ?? 0);
  return {
    generations: number === active ? { $in: [] } : { $eq: number, $ne: active },
    firstAt: { $lt: new Date(comparableUntil) },
  };
}

type Facts = Omit<Measured, 'condition' | 'waitsFor'>;

function conditionOf(generation: Generation, facts: Facts): Measured['condition'] {
  if (facts.stopped) return 'stopped';
  if (isBuild(generation) && facts.rejectCount > 0) return 'failing';
  const isFollowing = ['ready', 'active', 'standby'].includes(generation.state);
  if (isFollowing && (facts.lagSeconds ?? Infinity) > laggingAfterSeconds) return 'lagging';
  return generation.state;
}

function reasonsToWait({ number, state }: Generation, facts: Facts, start: string): string[] {
  const isDropping = state === 'dropping';
  const hasNoProjector = !facts.savedAt && !facts.stopped && !isDropping;
  return [
    ...(isDropping ? [`it is being dropped; if the drop was interrupted: rebuild drop ${number}`] : []),
    ...(hasNoProjector ? [neverStarted(start)] : []),
    ...(facts.rejectCount > 0 ? [rejectsText(facts.rejectCount)] : []),
  ];
}
