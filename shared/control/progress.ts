import type { Collection, Db, FindOptions } from 'mongodb';
import type { HoldCause } from './hold-causes.ts';

/** How far a generation has applied one partition. */
export type Progress = {
  /** `<generation>/<topic>/<partition>` */
  _id: string;
  generation: number;
  topic: string;
  partition: number;
  /** Offset of the next record to apply. */
  position: number;
  /** The end offset of the log, as last seen: the high watermark. */
  end: number;
  /** The leader epoch of the record batch before the position; absent before the first, and from an earlier release. */
  leaderEpoch?: number;
  /** The id of the topic whose records were applied; absent if the brokers have none. See `topicIdsOf`. */
  topicId?: string;
  /** Every event that the source system published on this partition up to this instant has been applied. */
  completeTo: Date;
  updatedAt: Date;
  /** Why its records wait to be applied. */
  cause?: HoldCause;
  /** When its projector first saw the next record to apply; null if there is none. */
  waitingSince?: Date | null;
  /** Whether the projector that saved it was given the number of its generation (`GENERATION`). */
  isPinned?: boolean;
  /** The version of that projector, in its package.json. */
  release?: string;
  /** The code by which that projector joins documents; absent from an earlier release. */
  joinedBy?: string;
};

/**
 * The id of the topic that a generation has applied, as earlier releases stored it, apart from its progress. Brokers
 * assign it at creation: a topic that is deleted and created again under the same name has another id.
 */
export type TopicIdentity = {
  /** `<generation>/<topic>` */
  _id: string;
  generation: number;
  topic: string;
  topicId: string;
};

/** The ids of the topics whose records were applied, by topic. A partition without an applied record does not tell. */
export const appliedTopicIds = (progress: Progress[]): Map<string, string> =>
  new Map(
    progress.flatMap(({ topic, topicId, position }) =>
      position > 0 && topicId !== undefined ? [[topic, topicId] as const] : [],
    ),
  );

/** Retention that is not enforced: every sweep since an instant has failed, by MongoDB's clock. */
export type SweepFailure = { since: Date; at: Date; reason: string };

/** A generation's watermark, by its number. A sweep needs one, so its failure is stored beside it. */
type Watermark = { _id: number; completeTo: Date; sweepFailure?: SweepFailure };

export const progressOf = (control: Db): Collection<Progress> => control.collection('progress');
export const topicIdsOf = (control: Db): Collection<TopicIdentity> => control.collection('topic_ids');

/** The progress of a generation, with the topic ids that an earlier release stored apart from it. */
export async function readProgress(control: Db, generation: number): Promise<Progress[]> {
  const progress = await progressOf(control).find({ generation }).toArray();
  if (progress.every(({ topicId }) => topicId !== undefined)) return progress;
  const stored = await topicIdsOf(control).find({ generation }).sort({ _id: 1 }).toArray();
  const topicIds = new Map(stored.map(({ topic, topicId }) => [topic, topicId]));
  return progress.map((one) => {
    const topicId = one.topicId ?? topicIds.get(one.topic);
    return topicId === undefined ? one : { ...one, topicId };
  });
}
export const watermarksOf = (control: Db): Collection<Watermark> => control.collection('watermarks');

/**
 * The watermark of a generation: every event that the source system published up to this instant has been applied. Null
 * until it is first raised. It never moves backwards.
 */
export async function watermark(control: Db, generation: number, options: FindOptions = {}) {
  return (await watermarksOf(control).findOne({ _id: generation }, options))?.completeTo ?? null;
}

/** Stores that a sweep has failed. The first failure of several in a row gives the instant. */
export async function storeSweepFailure(control: Db, generation: number, at: Date, reason: string) {
  const update = {
    $min: { 'sweepFailure.since': at },
    $set: { 'sweepFailure.at': at, 'sweepFailure.reason': reason },
  };
  await watermarksOf(control).updateOne({ _id: generation }, update);
}

/** Removes the failure after a sweep that has ended well. */
export async function clearSweepFailure(control: Db, generation: number): Promise<void> {
  await watermarksOf(control).updateOne({ _id: generation }, { $unset: { sweepFailure: true } });
}

/** If no progress was saved for this many seconds, no projector is running. Projectors save every second. */
export const silentAfterSeconds = 30;

/** Whether no projector runs at `asOf`, if one last saved progress at `savedAt`. */
export const isSilent = (savedAt: Date, asOf: Date): boolean =>
  asOf.getTime() - savedAt.getTime() > silentAfterSeconds * 1_000;

/** When a projector last saved progress of a generation; null if none has. */
export async function lastSavedAt(control: Db, generation: number, options: FindOptions = {}) {
  const saved = progressOf(control).find({ generation }, options).sort({ updatedAt: -1 }).limit(1);
  return (await saved.next())?.updatedAt ?? null;
}

/** Whether a projector follows the generation. */
export async function isFollowed(control: Db, generation: number, now: Date): Promise<boolean> {
  const savedAt = await lastSavedAt(control, generation);
  return savedAt !== null && !isSilent(savedAt, now);
}

/** The code of the projectors that follow a generation and join documents otherwise than `joinedBy`, each once. */
export async function otherJoiners(
  control: Db,
  generation: number,
  joinedBy: string,
  now: Date,
): Promise<string[]> {
  const progress = await progressOf(control).find({ generation }).toArray();
  const others = new Set<string>();
  for (const one of progress) {
    const code = one.joinedBy ?? one.release ?? 'an earlier release';
    if (code !== joinedBy && !isSilent(one.updatedAt, now)) others.add(code);
  }
  return [...others].toSorted();
}

/** The lag of a watermark in seconds, less the lateness allowance by which every watermark lags. */
export const lagSeconds = (completeTo: Date, now: Date, allowanceMs: number): number =>
  Math.max(0, (now.getTime() - completeTo.getTime() - allowanceMs) / 1_000);

/** A projection for `watermark`: the watermark, or the time of the store if its clock is earlier. */
export const notAfterNow = { completeTo: { $min: ['$completeTo', '$$NOW'] } };

/** The partition with the minimum `completeTo` of a generation. */
export type HeldBy = Pick<Progress, 'topic' | 'partition' | 'completeTo' | 'updatedAt'>;

/**
 * Raises a generation's watermark to the minimum `completeTo` of its partitions, if that is later. Returns the
 * resulting watermark, and the partition that holds it; null before a partition is registered. The watermark is stored
 * separately, because a newly registered partition may start at an earlier instant: no event on that partition is older
 * than the watermark was before. A topic that is not among `topics`, because only a later release follows it, holds the
 * watermark only while a projector saves its progress at `asOf`: after a return to the earlier release none would.
 */
export async function raiseWatermark(control: Db, generation: number, topics: string[], asOf: Date) {
  const updatedAt = { $gte: new Date(asOf.getTime() - silentAfterSeconds * 1_000) };
  const [minimum] = await progressOf(control)
    .find({ generation, $or: [{ topic: { $in: topics } }, { updatedAt }] })
    .sort({ completeTo: 1 })
    .limit(1)
    .project<HeldBy>({ topic: 1, partition: 1, completeTo: 1, updatedAt: 1 })
    .toArray();
  const completeTo = minimum?.completeTo ?? new Date(0);
  const raised = await watermarksOf(control).findOneAndUpdate(
    { _id: generation },
    { $max: { completeTo } },
    { upsert: true, returnDocument: 'after' },
  );
  return { watermark: raised?.completeTo ?? completeTo, heldBy: minimum ?? null };
}
