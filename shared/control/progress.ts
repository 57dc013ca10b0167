import type { Collection, Db, FindOptions } from 'mongodb';
import type { HoldCause } from './hold-causes.ts';

/** The progress of a generation in one partition. */
export type Progress = {
  /** `<generation>/<topic>/<partition>` */
  _id: string;
  generation: number;
  topic: string;
  partition: number;
  applied: AppliedPosition;
  /** The end offset of the log, as last seen: the high watermark. */
  end: number;
  /** Every event that the source system published on this partition up to this instant has been applied. */
  completeTo: Date;
  updatedAt: Date;
  /** Absent before a projector first saves the progress. */
  saved?: LastSave;
};

/**
 * Up to where the log of a partition is applied, and which log that is. Each save replaces the whole object. Otherwise
 * a release could leave a field of another release, which it does not know, beside its own position.
 */
export type AppliedPosition = {
  /**
   * The offset of the next record to apply. Must be the first field, because `$max` compares the fields in their order.
   */
  position: number;
  /** The leader epoch of the record batch before the position; absent if it is unknown. */
  leaderEpoch?: number;
  /**
   * The id of the topic whose records the projector has applied; absent if unknown, or without topic ids from the
   * brokers.
   */
  topicId?: string;
};

/**
 * The report of the projector that saved the progress last. Each save replaces the whole object, as that of
 * `AppliedPosition` does.
 */
export type LastSave = {
  /** The reason why records wait for the projector; null if no record waits. */
  cause: HoldCause | null;
  /** How long a quota of Kafka makes the projector wait for records, in milliseconds; absent without a quota. */
  throttledMs?: number;
  /** When the projector first saw the next record to apply; null without a next record. */
  waitingSince: Date | null;
  /** The id of the projector in the register of processes. */
  processId: string;
};

/**
 * The ids of the topics whose records were applied, by topic. A partition without an applied record names no topic id.
 */
export function appliedTopicIds(progress: Progress[]): Map<string, string> {
  const topicIds = new Map<string, string>();
  for (const { topic, applied } of progress) {
    if (applied.position > 0 && applied.topicId !== undefined) topicIds.set(topic, applied.topicId);
  }
  return topicIds;
}

/**
 * Whether a topic was deleted and created again since its records were applied, so its offsets now belong to other
 * records. False if the brokers report no topic ids, like Kafka before 2.8.
 */
export function isRecreated(
  { topic, applied: { position, topicId } }: Pick<Progress, 'topic' | 'applied'>,
  topicIds: ReadonlyMap<string, string>,
): boolean {
  const presentId = topicIds.get(topic);
  if (position === 0 || topicId === undefined || presentId === undefined) return false;
  return presentId !== topicId;
}

/** The watermark of the generation with this number. */
type Watermark = { _id: number; completeTo: Date };

export const progressOf = (control: Db): Collection<Progress> => control.collection('progress');

/** The progress of each partition of a generation. */
export const readProgress = (control: Db, generation: number): Promise<Progress[]> =>
  progressOf(control).find({ generation }).toArray();

export const watermarksOf = (control: Db): Collection<Watermark> => control.collection('watermarks');

/**
 * The watermark of a generation: every event that the source system published up to this instant has been applied. Null
 * until it is first raised. It never moves backwards.
 */
export async function readWatermark(control: Db, generation: number, options: FindOptions = {}) {
  const watermark = await watermarksOf(control).findOne({ _id: generation }, options);
  return watermark?.completeTo ?? null;
}

/** If no progress was saved for this many seconds, no projector is running. Projectors save every second. */
export const silentAfterSeconds = 30;

/** Whether no projector runs at `asOf`, if one last saved progress at `savedAt`. */
export const isSilent = (savedAt: Date, asOf: Date): boolean =>
  asOf.getTime() - savedAt.getTime() > silentAfterSeconds * 1_000;

/** When a projector last saved progress of a generation; null without saved progress. */
export async function lastSavedAt(control: Db, generation: number, options: FindOptions = {}) {
  const saved = progressOf(control).find({ generation }, options).sort({ updatedAt: -1 }).limit(1);
  const latest = await saved.next();
  return latest?.updatedAt ?? null;
}

/** Whether a projector follows the generation: it has lately saved progress of it. */
export async function isFollowed(control: Db, generation: number, now: Date): Promise<boolean> {
  const savedAt = await lastSavedAt(control, generation);
  return savedAt !== null && !isSilent(savedAt, now);
}

/** The lag of a watermark in seconds, less the lateness allowance by which every watermark lags. */
export const lagSeconds = (completeTo: Date, now: Date, allowanceMs: number): number =>
  Math.max(0, (now.getTime() - completeTo.getTime() - allowanceMs) / 1_000);

/** A projection for `readWatermark`: never later than MongoDB's clock, which may have been set back. */
export const notAfterNow = { completeTo: { $min: ['$completeTo', '$$NOW'] } };

/** The partition with the minimum `completeTo` of a generation. */
export type HeldBy = Pick<Progress, 'topic' | 'partition' | 'completeTo' | 'updatedAt'>;

/**
 * Raises a generation's watermark to the minimum `completeTo` of its partitions. Returns the new watermark, and the
 * partition that holds it, or null without partitions. Never lowers the watermark: a new partition may begin at an
 * earlier instant, but no event on it is older than the present watermark. A topic that this release does not know
 * counts while a projector of a later release saves its progress.
 */
export async function raiseWatermark(control: Db, generation: number, topics: string[], asOf: Date) {
  const updatedAt = { $gte: new Date(asOf.getTime() - silentAfterSeconds * 1_000) };
  const counted = { generation, $or: [{ topic: { $in: topics } }, { updatedAt }] };
  const projection = { topic: 1, partition: 1, completeTo: 1, updatedAt: 1 };
  const lowestFirst = progressOf(control).find(counted).sort({ completeTo: 1 }).limit(1);
  const [minimum] = await lowestFirst.project<HeldBy>(projection).toArray();
  const completeTo = minimum?.completeTo ?? new Date(0);
  const raised = await watermarksOf(control).findOneAndUpdate(
    { _id: generation },
    { $max: { completeTo } },
    { upsert: true, returnDocument: 'after' },
  );
  return { watermark: raised?.completeTo ?? completeTo, heldBy: minimum ?? null };
}
