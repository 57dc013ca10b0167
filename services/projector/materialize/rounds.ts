import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../../shared/documents/resources.ts';
import type { Guard } from './store.ts';

/** The causes of another round: another write came first, or a reference changed between the read and the recheck. */
export const repeatCauses = ['conflict', 'reference'] as const;
export type RepeatCause = (typeof repeatCauses)[number];

/** Consecutive rounds that finished no document. */
export type Stall = {
  kind: Kind;
  rounds: number;
  /** How many documents the last round left unfinished. */
  documents: number;
  /** Some of their ids. */
  ids: string[];
  cause: RepeatCause;
};

export type RoundDeps = {
  /** Aborted when the worker loses its partition, or the process stops. An abort ends a pause. */
  signal?: AbortSignal;
  /** Called after every ten rounds without progress, later about twice a minute. It may throw to end the rounds. */
  onStalled?: (stall: Stall) => void;
  /** Waits between two rounds without progress. By default a timer of Node waits. */
  wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
};

/** The most ids that a report of a stall names. */
const idsInStallMax = 10;
/** Most conflicts are over after three rounds, so an earlier pause would only delay them. */
const roundsWithoutPause = 3;
/** How many rounds without progress come between two reports of a stall. */
const roundsPerReport = 10;
/** The first pause, which doubles with each round, in milliseconds. */
const firstPauseMs = 10;
/** The longest pause, in milliseconds. */
const pauseMsMax = 5_000;

const waitByTimer = async (ms: number, signal: AbortSignal | undefined) => {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
  signal?.throwIfAborted();
};

/** Returns the next pause, shortened at random by up to a half, so that contending workers try at different times. */
function pauseMs(earlierPauses: number): number {
  const longestMs = Math.min(pauseMsMax, firstPauseMs * 2 ** earlierPauses);
  const randomFactor = 0.5 + Math.random() / 2;
  return longestMs * randomFactor;
}

/**
 * Returns a function to call at the end of each round. The function pauses after several rounds without progress,
 * longer each time, and reports the stall.
 */
export function createRoundPauses({ signal, onStalled, wait = waitByTimer }: RoundDeps, kind: Kind) {
  let rounds = 0;
  return async (unfinished: string[], hasProgress: boolean, cause: RepeatCause): Promise<void> => {
    rounds = hasProgress ? 0 : rounds + 1;
    if (rounds < roundsWithoutPause) return;
    if (rounds % roundsPerReport === 0) {
      const ids = unfinished.slice(0, idsInStallMax);
      onStalled?.({ kind, rounds, documents: unfinished.length, ids, cause });
    }
    await wait(pauseMs(rounds - roundsWithoutPause), signal);
  };
}

/**
 * Five conflicts of a write in a row, under the same guard, prove that no other writer is in the way: another document
 * has the id. One conflict proves nothing, because a failover or the TTL index may remove the other write.
 */
export const conflictsMax = 5;

/** Counts a conflict of a write. Returns how often it has conflicted while the stored document did not change. */
export type CountConflict = (id: string, guard: Guard) => number;

export function createConflictCounter(): CountConflict {
  const conflicts = new Map<string, { guard: Guard; count: number }>();
  return (id, guard) => {
    const earlier = conflicts.get(id);
    const count = earlier && isDeepStrictEqual(earlier.guard, guard) ? earlier.count + 1 : 1;
    conflicts.set(id, { guard, count });
    return count;
  };
}
