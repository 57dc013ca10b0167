import type { Collection, Db } from 'mongodb';

/**
 * A projector process that applies nothing, but reaches MongoDB and says why: it waits at its start, its start was
 * refused and it has ended, or it runs and Kafka does not answer it.
 */
export type WaitingProjector = {
  /** `<host> <pid>` */
  _id: string;
  host: string;
  pid: number;
  /** The generation that it was given by GENERATION; null if it follows the active one. */
  generation: number | null;
  state: 'starting' | 'refused' | 'cut_off';
  /** The last error, and what to do about it if that is known. */
  reason: string;
  /** When it last said so, by MongoDB's clock. */
  at: Date;
};

/** How long an entry counts, in milliseconds. A supervisor pauses for up to five minutes before the next start. */
const countsForMs = { starting: 120_000, cut_off: 120_000, refused: 600_000 } as const;

export const waitingProjectorsOf = (control: Db): Collection<WaitingProjector> =>
  control.collection('waiting_projectors');

/** The projectors that wait or were refused lately, the latest entry first; `now` is MongoDB's time. */
export async function waitingProjectors(control: Db, now: Date): Promise<WaitingProjector[]> {
  const since = new Date(now.getTime() - Math.max(...Object.values(countsForMs)));
  const found = await waitingProjectorsOf(control)
    .find({ at: { $gte: since } })
    .sort({ _id: 1 })
    .toArray();
  return found
    .filter(({ state, at }) => now.getTime() - at.getTime() <= countsForMs[state])
    .toSorted((a, b) => b.at.getTime() - a.at.getTime());
}
