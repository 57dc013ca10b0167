import { randomUUID } from 'node:crypto';
import type { Collection, Db } from 'mongodb';

/** How many requests in progress read a generation. */
type RequestsInProgress = { generation: number; requests: number };

/** An API replica, as it announces itself every two seconds. */
export type Replica = {
  /** Random, for each start of a process. */
  _id: string;
  host: string;
  pid: number;
  /** The version in its package.json. */
  release: string;
  /** The generation that its next request reads; null before it could read one. */
  generation: number | null;
  /** Its requests in progress: a streamed one reads its generation long after a switch. */
  inProgress: RequestsInProgress[];
  /** The projection versions that it can serve. */
  versions: readonly number[];
  /** When it announced itself, by the store's clock. */
  at: Date;
};

/** How often a replica announces itself, in milliseconds. */
export const announceIntervalMs = 2_000;

/** A replica that has not announced itself for this long is gone, in milliseconds. */
const liveForMs = 10_000;

export const replicasOf = (control: Db): Collection<Replica> => control.collection('replicas');

/**
 * Announces a replica and removes it, as an API does, so that a missing right shows. Its time is so early that no
 * reader counts it, and that an API removes it if this process ends in between.
 */
export async function tryAnnouncement(control: Db): Promise<void> {
  const _id = `check-${randomUUID()}`;
  await replicasOf(control).updateOne({ _id }, { $set: { at: new Date(0) } }, { upsert: true });
  await replicasOf(control).deleteOne({ _id });
}

/** The replicas that have announced themselves lately; `now` is the store's time. */
export const liveReplicas = (control: Db, now: Date): Promise<Replica[]> =>
  replicasOf(control)
    .find({ at: { $gte: new Date(now.getTime() - liveForMs) } })
    .sort({ _id: 1 })
    .toArray();
