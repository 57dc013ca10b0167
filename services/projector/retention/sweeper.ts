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

/**
 * Sweeps every few minutes while this projector owns partition 0 of the channels, less often if a sweep takes long. It
 * checks every five seconds whether a sweep is due. A sweep has these steps:
 *
 *   eraseSince       erases the dead letters of deleted entities: Invariant 14 in docs/internals/retention.md
 *   sweepApplied     purges the data whose retention had passed at the watermark: Invariant 12
 *
 * A complete sweep reads all conversations and all dead letters with bytes. The first sweep of an owner is complete,
 * the next one after a failure, and one a day.
 */
export function startSweeper(
  deps: SweeperDeps,
  {
    intervalMs = 300_000,
    pollMs = 5_000,
    stalledAfterMs = 600_000,
    nowMs = () => performance.now(),
  }: SweeperTimes = {},
): Repeating {
  const stopping = new AbortController();
  let deadLettersSince = new Date(0);
  let nextMs = 0;
  let nextCompleteMs = 0;
  /** Returns when the next sweep is due, if one that began at `startMs` ends now. */
  const nextAfter = (startMs: number, everyMs: number) =>
    startMs + Math.max(everyMs, (nowMs() - startMs) / completeSweepsShare);
  const outcome = createOutcomeReport(deps);
  const sweepIfOwner = async (run: RepeatedRun) => {
    const { onProgress } = run;
    const signal = AbortSignal.any([stopping.signal, run.signal]);
    const startMs = nowMs();
    if (!deps.isOwner()) {
      // Another owner may leave a sweep unfinished.
      nextCompleteMs = 0;
      outcome.leave();
      return;
    }
    if (startMs < nextMs) return;
    nextMs = startMs + intervalMs;
    await outcome.takeOver();
    const startedAt = deps.now();
    const dueMs = nextCompleteMs;
    const isComplete = startMs >= dueMs;
    // Set again after the purge. If the purge fails, the next sweep is complete.
    nextCompleteMs = 0;
    const since = isComplete ? new Date(0) : deadLettersSince;
    // Does not throw yet, because expired data must be purged even if MongoDB cannot read a document that a dead letter
    // names.
    const [erased] = await Promise.allSettled([eraseSince({ ...deps, signal, onProgress }, since)]);
    // A worker takes `storedAt` before its write, which MongoDB may delay. After a failure, the next sweep reads all
    // dead letters.
    const nextSince = erased.status === 'rejected' ? 0 : startedAt.getTime() - deadLettersOverlapMs;
    deadLettersSince = new Date(nextSince);
    const swept = await sweepApplied({ ...deps, isComplete, signal, onProgress });
    if (swept.conversations + swept.messages > 0) deps.logger.info(swept, 'purged data past its retention');
    nextCompleteMs = isComplete ? nextAfter(startMs, dayMs) : dueMs;
    if (!isComplete) nextMs = nextAfter(startMs, intervalMs);
    if (erased.status === 'rejected') throw erased.reason;
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
