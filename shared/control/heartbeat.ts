import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Db, UpdateFilter } from 'mongodb';
import { errorMessage } from '../runtime/error-message.ts';
import type { Logger } from '../runtime/logger.ts';
import { release } from '../runtime/release.ts';
import { repeat, type Repeating } from '../runtime/repeat.ts';
import { within } from '../runtime/within.ts';
import { storeTime } from '../store/clock.ts';
import {
  announceIntervalMs,
  announcementMaxTimeMs,
  finalStates,
  processesOf,
  type Projector,
  removeOldProcesses,
  type Replica,
} from './processes.ts';

/** The fields of its entry that a process announces; the heartbeat adds the others. */
export type AnnouncedEntry<P> = Omit<P, '_id' | 'host' | 'pid' | 'release' | 'at'>;

/** Announces this process in the register of processes. */
export type Heartbeat = {
  /** The id of the process's entry. */
  id: string;
  /** Announces the process now, and then every two seconds. A failure is logged, and stops nothing. */
  begin: () => void;
  /** Announces that the process has ended. Only the first call counts. Never rejects, and takes two seconds at most. */
  end: (state: 'refused' | 'ended', reason: string | null) => Promise<void>;
};

type HeartbeatDeps = {
  control: Db;
  /** Returns the entry as it is now. */
  read: () => AnnouncedEntry<Replica> | AnnouncedEntry<Projector>;
  /** Called before each beat. */
  onBeat?: () => void;
  logger: Logger;
  intervalMs?: number;
};

/** A beat without an answer fails after this time, in milliseconds. Otherwise the next beat would wait for it. */
const stalledAfterMs = 10_000;

/** `end` waits this long for the beat in progress, in milliseconds. */
const lastBeatTimeoutMs = 400;
/** `end` waits this long for its own announcement, in milliseconds. */
const endTimeoutMs = 1_500;

/** Creates the announcement of this process, under an id of its own. */
export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const { control, read, onBeat, logger, intervalMs = announceIntervalMs } = deps;
  const id = randomUUID();
  const identity = { host: hostname(), pid: process.pid, release };
  let beating: Repeating | null = null;
  let ended: Promise<void> | null = null;
  let hasFailed = false;
  const announce = async (entry: AnnouncedEntry<Replica> | AnnouncedEntry<Projector>) => {
    const update: UpdateFilter<Replica | Projector> = {
      $set: { ...identity, ...entry },
      $currentDate: { at: true as const },
    };
    // MongoDB may apply a late beat after the end. The filter then matches nothing, and the insert fails because the
    // entry exists, so the entry still shows the end.
    const notEnded = { _id: id, state: { $nin: finalStates } };
    await processesOf(control).updateOne(notEnded, update, {
      upsert: true,
      maxTimeMS: announcementMaxTimeMs,
    });
    if (hasFailed) logger.info('this process is announced again');
    hasFailed = false;
  };
  const storeEnd = async (state: 'refused' | 'ended', reason: string | null) => {
    await within(lastBeatTimeoutMs, beating?.stop() ?? Promise.resolve(), () => undefined);
    const announcing = announce({ ...read(), state, reason });
    await within(endTimeoutMs, announcing, () => undefined).catch(() => undefined);
  };
  return {
    id,
    begin: () => {
      const beat = () => {
        onBeat?.();
        return announce(read());
      };
      beating ??= repeat(beat, {
        intervalMs,
        stalledAfterMs,
        onError: (error) => {
          if (!hasFailed)
            logger.warn(
              { reason: errorMessage(error) },
              'cannot announce this process; commands count it as ended',
            );
          hasFailed = true;
        },
      });
      void removeOld(control).catch(() => undefined);
    },
    end: (state, reason) => {
      // `begin` was not called, because MongoDB never answered. Then only the log has the reason.
      if (!beating) return Promise.resolve();
      ended ??= storeEnd(state, reason);
      return ended;
    },
  };
}

async function removeOld(control: Db): Promise<void> {
  await removeOldProcesses(control, await storeTime(control, { maxTimeMS: announcementMaxTimeMs }));
}
