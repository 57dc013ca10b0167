import { hostname } from 'node:os';
import type { Db } from 'mongodb';
import { type WaitingProjector, waitingProjectorsOf } from '../../shared/control/waiting-projectors.ts';
import { within } from '../../shared/runtime/within.ts';

export type WaitingReport = {
  /** Stores why this process applies nothing, for `support-cli status`. */
  store: (state: WaitingProjector['state'], reason: string) => Promise<void>;
  /** Removes the entry of this process, and entries that are a day old; `now` is MongoDB's time. */
  clear: (now: Date) => Promise<void>;
};

/** A report waits at most this long for MongoDB, in milliseconds. */
const storeWithinMs = 2_000;

/** Entries of processes that never came back are removed after this, in milliseconds. */
const keptForMs = 86_400_000;

/**
 * Creates the report of this process. `generation` is the number that it was given; null if it follows the active one.
 * No method rejects: a report is worth no failure.
 */
export function createWaitingReport(control: Db, generation: number | null): WaitingReport {
  const projectors = waitingProjectorsOf(control);
  const host = hostname();
  const { pid } = process;
  const _id = `${host} ${pid}`;
  let last = Promise.resolve();
  /** One command after the other: an entry that is stored late must not outlive its removal. */
  const send = (command: () => Promise<unknown>) => {
    const sent = last.then(() => within(storeWithinMs, command(), () => undefined));
    last = sent.then(
      () => undefined,
      () => undefined,
    );
    return last;
  };
  return {
    store: (state, reason) => {
      const update = { $set: { host, pid, generation, state, reason }, $currentDate: { at: true as const } };
      return send(() => projectors.updateOne({ _id }, update, { upsert: true }));
    },
    clear: (now) => {
      const oldest = new Date(now.getTime() - keptForMs);
      return send(async () => {
        await projectors.deleteOne({ _id });
        await projectors.deleteMany({ at: { $lt: oldest } });
      });
    },
  };
}
