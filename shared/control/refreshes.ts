import type { Collection, Db } from 'mongodb';

/** How far an operator's refresh of all documents of a kind has come. It is removed once the refresh is complete. */
export type Refresh = {
  /** `<generation>/<kind>` */
  _id: string;
  generation: number;
  /** The release of the CLI, whose projections the documents were joined by. */
  release: string;
  startedAt: Date;
  /** When the last batch was durable. */
  savedAt: Date;
  /** The last id that was read. */
  after: string;
  /** Documents that were read, those of them that were written, and those that stay wrong. */
  read: number;
  changed: number;
  left: number;
};

export const refreshesOf = (control: Db): Collection<Refresh> => control.collection('refreshes');

type Key = { control: Db; generation: number; kind: string };

const idOf = ({ generation, kind }: Key) => `${generation}/${kind}`;

/** The progress of a refresh that was interrupted; null if there is none. */
export const readRefresh = (key: Key): Promise<Refresh | null> =>
  refreshesOf(key.control).findOne({ _id: idOf(key) });

export async function saveRefresh(key: Key, progress: Omit<Refresh, '_id' | 'generation'>): Promise<void> {
  const update = { $set: { generation: key.generation, ...progress } };
  await refreshesOf(key.control).updateOne({ _id: idOf(key) }, update, { upsert: true });
}

/**
 * Forgets the refreshes that another release has begun: it may have written documents since, and so the parts that were
 * refreshed are not known to be right any more.
 */
export async function forgetOtherRefreshes(control: Db, generation: number, release: string): Promise<void> {
  await refreshesOf(control).deleteMany({ generation, release: { $ne: release } });
}

export async function removeRefresh(key: Key): Promise<void> {
  await refreshesOf(key.control).deleteOne({ _id: idOf(key) });
}
