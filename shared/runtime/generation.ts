import type { Collection, Db } from 'mongodb';

/** Which generation readers are served from; one document in the control database. */
export type ActiveGeneration = { _id: 'active'; generation: number; since: Date };

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

export const generationsOf = (control: Db): Collection<ActiveGeneration> => control.collection('generations');
export const progressOf = (control: Db): Collection<Progress> => control.collection('progress');

/** The active generation, or null before a projector has first started. */
export async function activeGeneration(control: Db): Promise<number | null> {
  const active = await generationsOf(control).findOne({ _id: 'active' });
  return active?.generation ?? null;
}

/** Names generation 1 active where none is yet; gives the active one. */
export async function ensureActiveGeneration(control: Db): Promise<number> {
  await generationsOf(control).updateOne(
    { _id: 'active' },
    { $setOnInsert: { generation: 1, since: new Date() } },
    { upsert: true },
  );
  return (await activeGeneration(control)) ?? 1;
}

/**
 * The instant up to which a generation holds everything: the least `completeTo` of its partitions. Null while
 * nothing has been recorded. It does not move backwards, since no partition's does and a new partition starts
 * at the watermark of its discovery.
 */
export async function watermark(control: Db, generation: number): Promise<Date | null> {
  const [least] = await progressOf(control)
    .find({ generation })
    .sort({ completeTo: 1 })
    .limit(1)
    .project<{ completeTo: Date }>({ completeTo: 1 })
    .toArray();
  return least?.completeTo ?? null;
}
