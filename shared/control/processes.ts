import { randomUUID } from 'node:crypto';
import type { Collection, Db } from 'mongodb';

/*
 * The register of processes: each API replica and each projector announces itself, and no other process writes its
 * entry.
 *
 *   starting ──→ running ←──→ cut_off     a projector; an API replica is running at once
 *      │            └──────────┴──→ ended     with a reason unless it was asked to stop
 *      └──→ refused
 */
export type ProcessState =
  /** It waits for a condition of its start. */
  | 'starting'
  /** Its start was refused, and it has ended. */
  | 'refused'
  | 'running'
  /** It runs, and Kafka does not answer it. */
  | 'cut_off'
  | 'ended';

type Announced = {
  /** Random, for each start of a process. */
  _id: string;
  host: string;
  pid: number;
  /** The version in its package.json. */
  release: string;
  state: ProcessState;
  /** The reason why it does not run, and the fix if it is known; null if it runs, or ended as it was asked to. */
  reason: string | null;
  /** When it announced itself, by MongoDB's clock. */
  at: Date;
};

/** The name of a process for an operator: `process 12 on host-1`. */
export const processText = ({ pid, host }: Pick<Announced, 'pid' | 'host'>): string =>
  `process ${pid} on ${host}`;

/** The number of requests in progress that read a generation. */
type RequestsInProgress = { generation: number; requests: number };

/** An API replica. */
export type Replica = Announced & {
  role: 'api';
  /** The generation that its next request reads; null before it could read one. */
  generation: number | null;
  /** Its requests in progress: a streamed one reads its generation long after a switch. */
  inProgress: RequestsInProgress[];
  /** The projection versions that it can serve. */
  versions: readonly number[];
};

/** The last sweep of a process. An operator has to know of failing sweeps, because expired personal data stays. */
export type SweepOutcome = {
  /** When it ended, by MongoDB's clock. */
  at: Date;
  /**
   * When the first of the consecutive failures happened, of this or of another projector; null if the last sweep
   * succeeded.
   */
  failingSince: Date | null;
  reason: string | null;
};

/** A projector. */
export type Projector = Announced & {
  role: 'projector';
  /** Null before it knows its generation: the active one. */
  generation: number | null;
  /** Whether it was given the number of its generation (`GENERATION`). */
  isPinned: boolean;
  /** The code by which it joins documents. */
  joinedBy: string;
  /** Its work for all projectors of its generation. */
  duties: { sweep: SweepOutcome | null };
};

/** How often a process announces itself, in milliseconds. */
export const announceIntervalMs = 2_000;

/**
 * MongoDB ends a change of the register after this time, in milliseconds, before the driver would give up and drop the
 * connection.
 */
export const announcementMaxTimeMs = 7_000;

/** A process that has not announced itself for this long counts as gone, in milliseconds. */
const liveForMs = 10_000;

/** The entry of a process that is gone stays for this long, in milliseconds: `status` explains its end from it. */
const keptForMs = 3_600_000;

export const processesOf = <P extends Announced = Replica | Projector>(control: Db): Collection<P> =>
  control.collection<P>('processes');

/** The states in which a process ends. */
export const finalStates: readonly ProcessState[] = ['refused', 'ended'];

/** Whether a process runs, or waits at its start; `now` is MongoDB's time. */
export const isLive = ({ state, at }: Pick<Announced, 'state' | 'at'>, now: Date): boolean =>
  !finalStates.includes(state) && now.getTime() - at.getTime() <= liveForMs;

/** The API replicas that are live; `now` is MongoDB's time. */
export async function readLiveReplicas(control: Db, now: Date): Promise<Replica[]> {
  const replicas = processesOf<Replica>(control);
  const since = new Date(now.getTime() - liveForMs);
  const found = await replicas
    .find({ role: 'api', at: { $gte: since } })
    .sort({ _id: 1 })
    .toArray();
  return found.filter((process) => isLive(process, now));
}

/** The projectors of the last hour, and failed projectors whose generation has had no projector since. */
export const readProjectors = (control: Db): Promise<Projector[]> =>
  processesOf<Projector>(control).find({ role: 'projector' }).sort({ _id: 1 }).toArray();

/**
 * The projectors of a generation, the latest announcement first. A projector that does not know its generation yet
 * follows the active one.
 */
export const projectorsOf = (projectors: Projector[], number: number, active: number): Projector[] =>
  projectors
    .filter(({ generation }) => (generation ?? active) === number)
    .toSorted((a, b) => b.at.getTime() - a.at.getTime());

/**
 * Whether a live projector has no `GENERATION`: after a promotion, a restart would move it to the new generation. `now`
 * is MongoDB's time.
 */
export const isUnpinned = (projectors: Projector[], now: Date): boolean =>
  projectors.some((projector) => !projector.isPinned && isLive(projector, now));

/** The last sweep of a generation; null without an announced sweep. */
export function lastSweepOf(projectors: Projector[]): SweepOutcome | null {
  const sweeps = projectors.flatMap(({ duties }) => duties.sweep ?? []);
  return sweeps.toSorted((a, b) => b.at.getTime() - a.at.getTime())[0] ?? null;
}

/**
 * Removes the entries that are an hour old at `now`, MongoDB's time. An entry with the reason for which a projector has
 * ended stays until another projector follows its generation, which the caller names as `followed`.
 */
export async function removeOldProcesses(
  control: Db,
  now: Date,
  followed: number | null = null,
): Promise<void> {
  const at = { $lt: new Date(now.getTime() - keptForMs) };
  const old =
    followed === null
      ? { at, $or: [{ state: { $ne: 'ended' as const } }, { reason: null }] }
      : { at, generation: followed };
  await processesOf(control).deleteMany(old, { maxTimeMS: announcementMaxTimeMs });
}

/**
 * Announces a process and removes it, as an API does, so that a missing right shows. Its time is so early that no
 * reader counts it, and that a later start removes it if this process ends in between.
 */
export async function tryAnnouncement(control: Db): Promise<void> {
  const _id = `check-${randomUUID()}`;
  await processesOf(control).updateOne({ _id }, { $set: { at: new Date(0) } }, { upsert: true });
  await processesOf(control).deleteOne({ _id });
}
