import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../../shared/documents/resources.ts';
import type { Guard } from './store.ts';

/** Another write came first, or a reference changed between the read and the recheck. */
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
  /** Waits between two rounds without progress; by default by the clock. */
  wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
};

/** The most ids in the report of a stall. */
const idsInStallMax = 10;
/** Most conflicts are over after three rounds, so an earlier pause would only delay them. */
const roundsWithoutPause = 3;
/** How many rounds without progress come between two reports of a stall. */
const roundsPerReport = 10;
/** The first pause, which doubles with each round, in milliseconds. */
const firstPauseMs = 10;
/** The longest pause, in milliseconds. */
const pauseMsMax = 5_000;

const waitByClock = async (ms: number, signal: AbortSignal | undefined) => {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
  signal?.throwIfAborted();
};

/** Draws a part of the pause, from half of it to all of it, so that contending workers try at different times. */
const pauseMs = (pauses: number): number =>
  Math.min(pauseMsMax, firstPauseMs * 2 ** pauses) * (0.5 + Math.random() / 2);

/**
 * Returns a function to call at the end of each round. The function pauses after several rounds without progress,
 * longer each time, and reports the stall.
 */
export function createRoundPauses({ signal, onStalled, wait = waitByClock }: RoundDeps, kind: Kind) {
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
 * A write that conflicts this often under the same guard meets no other writer: its id is taken by another document. A
 * single conflict does not prove that, because a failover or the TTL index may have removed the other write.
 */
const lossesMax = 5;

/**
 * Returns a function to call for each write that conflicted. The function returns whether the write has conflicted
 * `lossesMax` times in a row although the stored document did not change.
 */
export function createLossCounter() {
  const losses = new Map<string, { guard: Guard; count: number }>();
  return (id: string, guard: Guard): boolean => {
    const earlier = losses.get(id);
    const count = earlier && isDeepStrictEqual(earlier.guard, guard) ? earlier.count + 1 : 1;
    losses.set(id, { guard, count });
    return count >= lossesMax;
  };
}
