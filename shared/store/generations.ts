import type { Collection, Db, FindOptions } from 'mongodb';

/** The generation that the API serves; one document in the control database. */
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
  /** The end offset of the log, as last seen. */
  end: number;
  /** Every event that the source system published on this partition up to this instant has been applied. */
  completeTo: Date;
  updatedAt: Date;
};

/**
 * The id of the topic that a generation has applied. Brokers assign it at creation: a topic that is deleted and created
 * again under the same name has another id.
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

/** Makes generation 1 active if none is. Returns the active generation. */
export async function ensureActiveGeneration(control: Db): Promise<number> {
  await generationsOf(control).updateOne(
    { _id: 'active' },
    { $setOnInsert: { generation: 1, since: new Date(), projectionVersion } },
    { upsert: true },
  );
  return (await activeGeneration(control)) ?? 1;
}

/**
 * The watermark of a generation: every event that the source system published up to this instant has been applied. Null
 * until it is first raised. It never moves backwards.
 */
export async function watermark(
  control: Db,
  generation: number,
  options: FindOptions = {},
): Promise<Date | null> {
  return (await watermarksOf(control).findOne({ _id: generation }, options))?.completeTo ?? null;
}

/**
 * Raises a generation's watermark to the minimum `completeTo` of its partitions, if that is later. Returns the resulting
 * watermark. It is stored separately, as a newly registered partition may start at an earlier instant: no event on that
 * partition is older than the watermark was before.
 */
export async function raiseWatermark(control: Db, generation: number): Promise<Date> {
  const [minimum] = await progressOf(control)
    .find({ generation })
    .sort({ completeTo: 1 })
    .limit(1)
    .project<{ completeTo: Date }>({ completeTo: 1 })
    .toArray();
  const completeTo = minimum?.completeTo ?? new Date(0);
  const raised = await watermarksOf(control).findOneAndUpdate(
    { _id: generation },
    { $max: { completeTo } },
    { upsert: true, returnDocument: 'after' },
  );
  return raised?.completeTo ?? completeTo;
}
