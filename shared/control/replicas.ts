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

/** The replicas that have announced themselves lately; `now` is the store's time. */
export const liveReplicas = (control: Db, now: Date): Promise<Replica[]> =>
  replicasOf(control)
    .find({ at: { $gte: new Date(now.getTime() - liveForMs) } })
    .sort({ _id: 1 })
    .toArray();
