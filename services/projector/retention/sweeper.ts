import type { Db } from 'mongodb';
import { lastSweepOf, readProjectors, type SweepOutcome } from '../../../shared/control/processes.ts';
import { readWatermark } from '../../../shared/control/progress.ts';
import { dayMs } from '../../../shared/documents/instant.ts';
import { explained } from '../../../shared/kafka/errors.ts';
import { topicOf } from '../../../shared/kafka/topics.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat, type RepeatedRun, type Repeating } from '../../../shared/runtime/repeat.ts';
import { eraseSince } from '../dead-letters/erase.ts';
import type { Metrics } from '../metrics.ts';
import { isStarted, type Snapshot } from '../partition/snapshot.ts';
import { sweep, type SweepDeps } from './sweep.ts';

export type SweeperDeps = Omit<SweepDeps, 'asOf' | 'isComplete' | 'signal' | 'onProgress'> & {
  control: Db;
  prefix: string;
  generation: number;
  /** Whether this projector sweeps: it owns partition 0 of the channels. */
  isOwner: () => boolean;
  /** Announces how a sweep has ended. */
  announceSweep: (outcome: SweepOutcome) => void;
  metrics: Pick<Metrics, 'sweepFailing'>;
  logger: Logger;
};

/**
 * Purges data whose retention had passed at the watermark. Purges nothing without a watermark. If a wrong clock has
 * moved the watermark into the future, uses MongoDB's time instead.
 */
export async function sweepApplied(deps: Omit<SweepDeps, 'asOf'> & { control: Db; generation: number }) {
  const applied = await readWatermark(deps.control, deps.generation);
  if (!applied) return { conversations: 0, messages: 0 };
  const now = deps.now();
  return sweep({ ...deps, asOf: applied < now ? applied : now });
}

/** Whether this member sweeps: it has started partition 0 of the channels. During a rebalance two members may sweep. */
export const ownsSweep = (assigned: Snapshot[], prefix: string): boolean =>
  assigned
    .filter(isStarted)
    .some(({ topic, partition }) => topic === topicOf('channel', prefix) && partition === 0);

/** The largest share of the time that complete sweeps take. The other sweeps take at most the same share. */
const completeSweepsShare = 1 / 20;

/** How late bytes may be stored after their `storedAt`, in milliseconds. The next complete sweep finds later ones. */
const deadLettersOverlapMs = 600_000;

/** Before every stored time. */
const beginning = new Date(0);

/**
 * Shows in the metrics, and announces, whether the last sweep has failed. Otherwise nothing would show that personal
 * data stays past its retention.
 */
function createOutcomeReport({ control, generation, now, metrics, announceSweep }: SweeperDeps) {
  let last: SweepOutcome | null = null;
  const show = (outcome: SweepOutcome) => {
    last = outcome;
    metrics.sweepFailing.set(outcome.failingSince === null ? 0 : 1);
    announceSweep(outcome);
  };
  return {
    /** Called before the first sweep of an owner. Reads whether the sweep of the former owner has failed. */
    takeOver: async () => {
      if (last) return;
      const projectors = await readProjectors(control);
      last = lastSweepOf(projectors.filter((projector) => projector.generation === generation));
    },
    succeed: () => show({ at: now(), failingSince: null, reason: null }),
    fail: (error: unknown) => {
      const at = now();
      show({ at, failingSince: last?.failingSince ?? at, reason: explained(error) });
    },
    /** Called while another projector sweeps, which announces its own outcome. */
    leave: () => {
      last = null;
      metrics.sweepFailing.set(0);
    },
  };
}

/** Times in milliseconds. */
export type SweeperTimes = {
  /** The time between the starts of two sweeps. */
  intervalMs?: number;
  /** How often the sweeper checks whether it is the owner, and whether a sweep is due. */
  pollMs?: number;
  /** The time after which a sweep without progress has failed. One command of the largest deletion takes less. */
  stalledAfterMs?: number;
  /** A monotonic clock. */
  nowMs?: () => number;
};

/** A sweep that has begun. */
type Sweep = { startMs: number; isComplete: boolean };

/**
 * Decides when a sweep is due, and whether it is complete: the first one, the next one after an unfinished purge, and
 * one a day.
 */
function createSchedule({ intervalMs = 300_000, nowMs = () => performance.now() }: SweeperTimes) {
  let nextMs = 0;
  let nextCompleteMs = 0;
  let isUnfinished = true;
  /** Returns when the next sweep is due, if one that began at `startMs` ends now. */
  const nextAfter = (startMs: number, everyMs: number) => {
    const pauseMs = (nowMs() - startMs) / completeSweepsShare;
    return startMs + Math.max(everyMs, pauseMs);
  };
  return {
    isDue: () => nowMs() >= nextMs,
    begin: (): Sweep => {
      const startMs = nowMs();
      nextMs = startMs + intervalMs;
      const isComplete = isUnfinished || startMs >= nextCompleteMs;
      isUnfinished = true;
      return { startMs, isComplete };
    },
    /** Called once the purge of the sweep has succeeded. */
    end: ({ startMs, isComplete }: Sweep) => {
      isUnfinished = false;
      if (isComplete) nextCompleteMs = nextAfter(startMs, dayMs);
      else nextMs = nextAfter(startMs, intervalMs);
    },
    /** Called while another projector sweeps, which may leave a sweep unfinished. */
    leave: () => {
      isUnfinished = true;
    },
  };
}

/**
 * Sweeps every few minutes while this projector owns partition 0 of the channels, less often if a sweep takes long. It
 * checks every five seconds whether a sweep is due. A sweep has these steps:
 *
 *   eraseSince       erases the dead letters of deleted entities: Invariant 14 in docs/internals/retention.md
 *   sweepApplied     purges the data whose retention had passed at the watermark: Invariant 12
 *
 * A complete sweep reads all conversations and all dead letters with bytes. A sweep that ends after it has
 * counted as stalled changes neither the schedule nor the outcome.
 */
export function startSweeper(deps: SweeperDeps, times: SweeperTimes = {}): Repeating {
  const { pollMs = 5_000, stalledAfterMs = 600_000 } = times;
  const stopping = new AbortController();
  const schedule = createSchedule(times);
  const outcome = createOutcomeReport(deps);
  /** By MongoDB's clock: the next sweep looks for bytes that were stored since then. */
  let deadLettersSince = beginning;
  const eraseDeadLetters = async (run: RepeatedRun, { isComplete }: Sweep) => {
    const since = isComplete ? beginning : deadLettersSince;
    const startedAt = deps.now();
    // If the erasure fails, the next sweep reads all dead letters.
    deadLettersSince = beginning;
    await eraseSince({ ...deps, ...run }, since);
    run.signal.throwIfAborted();
    // A worker takes `storedAt` before its write, which MongoDB may delay.
    deadLettersSince = new Date(startedAt.getTime() - deadLettersOverlapMs);
  };
  const purge = async (run: RepeatedRun, current: Sweep) => {
    const purged = await sweepApplied({ ...deps, ...run, isComplete: current.isComplete });
    if (purged.conversations + purged.messages > 0)
      deps.logger.info(purged, 'purged data past its retention');
    run.signal.throwIfAborted();
    schedule.end(current);
  };
  const sweepIfOwner = async ({ signal, onProgress }: RepeatedRun) => {
    if (!deps.isOwner()) {
      schedule.leave();
      outcome.leave();
      return;
    }
    if (!schedule.isDue()) return;
    const current = schedule.begin();
    await outcome.takeOver();
    const run = { signal: AbortSignal.any([stopping.signal, signal]), onProgress };
    try {
      await eraseDeadLetters(run, current);
    } finally {
      // Expired data must be purged even if MongoDB cannot read a document that a dead letter names.
      await purge(run, current);
    }
    outcome.succeed();
  };
  const sweeping = repeat(sweepIfOwner, {
    intervalMs: pollMs,
    stalledAfterMs,
    onError: (error) => {
      if (stopping.signal.aborted) return;
      deps.logger.warn({ error }, 'the sweep failed; it runs again in a few minutes');
      outcome.fail(error);
    },
  });
  return {
    stop: async () => {
      stopping.abort(new Error('the projector is stopping'));
      await sweeping.stop();
    },
  };
}
