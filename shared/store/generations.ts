import type { Collection, Db, FindOptions } from 'mongodb';

/** Which generation readers are served from; one document in the control database. */
export type ActiveGeneration = {
  _id: 'active';
  generation: number;
  since: Date;
  /** `projectionVersion` of the code that built the generation; absent where that was older than the field. */
  projectionVersion?: number;
};

/**
 * Version of what a projector stores: it rises whenever stored fields change their names, types or meaning. 1 named
 * the state `own` and positions `at` and `cut`.
 */
export const projectionVersion = 2;

/** The active generation was built by code whose documents this code cannot read. */
export class OtherProjectionVersion extends Error {
  override name = 'OtherProjectionVersion';
}

/** How far a generation has applied one partition. */
export type Progress = {
  /** `<generation>/<topic>/<partition>` */
  _id: string;
  generation: number;
  topic: string;
  partition: number;
  /** Offset of the next record to apply. */
  position: number;
  /** The log's end when last seen. */
  end: number;
  /** Everything the product published up to this instant, on this partition, has been applied. */
  completeTo: Date;
  updatedAt: Date;
};

/**
 * Which topic of a name a generation has applied, by the id that the brokers gave it when it was created: another
 * topic of that name has another one.
 */
export type TopicIdentity = {
  /** `<generation>/<topic>` */
  _id: string;
  generation: number;
  topic: string;
  topicId: string;
};

/** A generation's watermark, by its number. */
export type Watermark = { _id: number; completeTo: Date };

export const generationsOf = (control: Db): Collection<ActiveGeneration> => control.collection('generations');
export const progressOf = (control: Db): Collection<Progress> => control.collection('progress');
export const topicIdsOf = (control: Db): Collection<TopicIdentity> => control.collection('topic_ids');
export const watermarksOf = (control: Db): Collection<Watermark> => control.collection('watermarks');

/**
 * The active generation, or null before a projector has first started. Throws `OtherProjectionVersion` where its
 * documents are of another version.
 */
export async function activeGeneration(control: Db, options: FindOptions = {}): Promise<number | null> {
  const active = await generationsOf(control).findOne({ _id: 'active' }, options);
  if (active === null) return null;
  const { generation, projectionVersion: version = 1 } = active;
  if (version === projectionVersion) return generation;
  throw new OtherProjectionVersion(
    `generation ${generation} holds documents of projection version ${version}, but this release reads and writes ` +
      `version ${projectionVersion}`,
  );
}

/** Names generation 1 active where none is yet; gives the active one. */
export async function ensureActiveGeneration(control: Db): Promise<number> {
  await generationsOf(control).updateOne(
    { _id: 'active' },
    { $setOnInsert: { generation: 1, since: new Date(), projectionVersion } },
    { upsert: true },
  );
  return (await activeGeneration(control)) ?? 1;
}

/**
 * The watermark of a generation: the instant up to which it holds everything that the product published. Null
 * before it was first raised. It never moves backwards.
 */
export async function watermark(
  control: Db,
  generation: number,
  options: FindOptions = {},
): Promise<Date | null> {
  return (await watermarksOf(control).findOne({ _id: generation }, options))?.completeTo ?? null;
}

/**
 * Raises a generation's watermark to the least `completeTo` of its partitions, where that is later; gives what it
 * is then. Kept apart from them, as a partition that was just made known may start further back: it holds
 * nothing older than what was promised before it was there.
 */
export async function raiseWatermark(control: Db, generation: number): Promise<Date> {
  const [least] = await progressOf(control)
    .find({ generation })
    .sort({ completeTo: 1 })
    .limit(1)
    .project<{ completeTo: Date }>({ completeTo: 1 })
    .toArray();
  const completeTo = least?.completeTo ?? new Date(0);
  const raised = await watermarksOf(control).findOneAndUpdate(
    { _id: generation },
    { $max: { completeTo } },
    { upsert: true, returnDocument: 'after' },
  );
  return raised?.completeTo ?? completeTo;
}
