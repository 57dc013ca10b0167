import type { Collection, Db } from 'mongodb';

/** How far an operator's refresh of all documents of a kind has come. It is removed once the refresh is complete. */
export type Refresh = {
  /** `<generation>/<kind>` */
  _id: string;
  generation: number;
  /** The run of the verb that saves its progress here. A later run takes the refresh over. */
  run: string;
  /** The code of the CLI that joins the documents: `joinedBy` of the projector. */
  joinedBy: string;
  startedAt: Date;
  /** When the last batch was durable. */
  savedAt: Date;
  /** The last id that was read; '' before the first. */
  after: string;
  /** Documents that were read, those of them that were written, and those that stay wrong. */
  read: number;
  changed: number;
  left: number;
  /** How many of the written documents were wrong in a field. */
  fields: { field: string; count: number }[];
  /** The first of the written documents, and the first of those that stay wrong. */
  samples: { id: string; fields: string[] }[];
  leftSamples: { id: string; reason: string }[];
};

export const refreshesOf = (control: Db): Collection<Refresh> => control.collection('refreshes');

type Key = { control: Db; generation: number; kind: string };

const idOf = ({ generation, kind }: Key) => `${generation}/${kind}`;

/** The progress of a refresh that was interrupted; null if there is none. */
export const readRefresh = (key: Key): Promise<Refresh | null> =>
  refreshesOf(key.control).findOne({ _id: idOf(key) });

/** Begins a refresh, or takes over the one that was begun before. A run before, if it still goes on, saves no more. */
export async function beginRefresh(key: Key, begun: Omit<Refresh, '_id' | 'generation'>): Promise<void> {
  const update = { $set: { generation: key.generation, ...begun } };
  await refreshesOf(key.control).updateOne({ _id: idOf(key) }, update, { upsert: true });
}

/** Saves the progress of a run. Returns false if another run has taken the refresh over, or it was forgotten. */
export async function saveRefresh(key: Key, run: string, progress: Partial<Refresh>): Promise<boolean> {
  const { matchedCount } = await refreshesOf(key.control).updateOne(
    { _id: idOf(key), run },
    { $set: progress },
  );
  return matchedCount === 1;
}

/**
 * Forgets the refreshes that other code has begun. Code that joins documents in another way writes from now on, and so
 * the parts that were refreshed are not known to be right any more.
 */
export async function forgetOtherRefreshes(control: Db, generation: number, joinedBy: string): Promise<void> {
  await refreshesOf(control).deleteMany({ generation, joinedBy: { $ne: joinedBy } });
}

/** Removes the progress of a run. */
export async function removeRefresh(key: Key, run: string): Promise<void> {
  await refreshesOf(key.control).deleteOne({ _id: idOf(key), run });
}
