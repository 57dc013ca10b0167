import type { Db } from 'mongodb';
import { lastSweep, readProjectors, type SweepOutcome } from '../../../shared/control/processes.ts';
import { watermark } from '../../../shared/control/progress.ts';
import { dayMs } from '../../../shared/documents/instant.ts';
import { explained } from '../../../shared/kafka/errors.ts';
import { topicOf } from '../../../shared/kafka/topics.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat, type Repeating, type Run } from '../../../shared/runtime/repeat.ts';
import { eraseSince } from '../dead-letters/erase.ts';
import type { Metrics } from '../metrics.ts';
import { isStarted, type Snapshot } from '../partition/snapshot.ts';
import { sweep, type SweepDeps } from './sweep.ts';

type SweeperDeps = Omit<SweepDeps, 'asOf' | 'isComplete' | 'signal' | 'onProgress'> & {
  control: Db;
  prefix: string;
  generation: number;
  /** Forgets the purged records that no log has any more. */
  forgetPurged: () => Promise<void>;
  /** Whether this projector sweeps: it owns partition 0 of the channels. */
  isOwner: () => boolean;
  /** Announces how a sweep has ended. */
  announceSweep: (outcome: SweepOutcome) => void;
  metrics: Pick<Metrics, 'sweepFailing'>;
  logger: Logger;
};

/**
 * Purges data whose retention had passed at the watermark. Purges nothing without a watermark. If a wrong clock has
 * moved the watermark into the future, the store's time replaces it.
 */
export async function sweepApplied(deps: Omit<SweepDeps, 'asOf'> & { control: Db; generation: number }) {
  const applied = await watermark(deps.control, deps.generation);
  if (!applied) return { conversations: 0, messages: 0 };
  const now = deps.now();
  return sweep({ ...deps, asOf: applied < now ? applied : now });
}

/** The member that has started partition 0 of the channels sweeps; during a rebalance two may, for a moment. */
export const ownsSweep = (assigned: Snapshot[], prefix: string): boolean =>
  assigned
    .filter(isStarted)
    .some(({ topic, partition }) => topic === topicOf('channel', prefix) && partition === 0);

/** Complete sweeps take at most this part of the time, and so do the others. */
const busyPart = 1 / 20;

/** Bytes are stored within this time of their `storedAt`, in milliseconds. The next owner finds later ones. */
const deadLettersOverlapMs = 600_000;

/**
 * Shows in the metrics, and announces, whether the last sweep has failed: personal data then stays, however well
 * everything else works.
 */
function createOutcome({ control, generation, now, metrics, announceSweep }: SweeperDeps) {
  let last: SweepOutcome | null = null;
  const show = (outcome: SweepOutcome) => {
    last = outcome;
    metrics.sweepFailing.set(outcome.failingSince === null ? 0 : 1);
    announceSweep(outcome);
  };
  return {
    /** Before the first sweep of an owner: an earlier owner may have failed. */
    takeOver: async () => {
      if (last) return;
      const projectors = await readProjectors(control);
      last = lastSweep(projectors.filter((one) => one.generation === generation));
    },
    succeed: () => show({ at: now(), failingSince: null, reason: null }),
    fail: (error: unknown) => {
      const at = now();
      show({ at, failingSince: last?.failingSince ?? at, reason: explained(error) });
    },
    /** Another projector sweeps, and announces its own outcome, which comes later. */
    leave: () => {
      last = null;
      metrics.sweepFailing.set(0);
    },
  };
}

/** Times in milliseconds. */
type SweeperTimes = {
  /** The time between the starts of two sweeps. */
  intervalMs?: number;
  /** How often the sweeper looks whether it is the owner, and a sweep is due. */
  pollMs?: number;
  /** A sweep without progress for this long counts as failed. Longer than the largest deletion by one command. */
  stalledAfterMs?: number;
  /** A monotonic clock. */
  nowMs?: () => number;
};

/*
 * The life of a sweeper. It looks at each poll, every five seconds:
 *
 *   not the owner ──owns partition 0 of the channels──→ due ──→ erase dead letters ──→ purge ──→ waiting ──→ due …
 *         ↑                                              ↑                │               │          │
 *         └──────────────another member owns it──────────┼────────────────┴───────────────┴──────────┘
 *                                                        └── a failure: the next sweep, in a few minutes, is complete
 */

/**
 * Sweeps every few minutes while this projector is the owner, less often if that takes long. The API stops serving
 * expired data at once; the sweep purges it within minutes, or after the log is applied up to that instant. The first
 * sweep of an owner is complete, and so are those after a failure and one a day: Invariant 12 in
 * docs/internals/retention.md. It also erases the dead letters of deleted entities, a complete one among all that have
 * bytes: Invariant 14.
 */
export function startSweeper(
  deps: SweeperDeps,
  {
    intervalMs = 300_000,
    pollMs = 5_000,
    stalledAfterMs = 600_000,
    nowMs = () => performance.now(),
  }: SweeperTimes = {},
): Pick<Repeating, 'stop'> {
  const stopping = new AbortController();
  let deadLettersSince = new Date(0);
  let nextMs = 0;
  let nextCompleteMs = 0;
  /** When a sweep comes again that began at an instant. */
  const after = (startMs: number, everyMs: number) =>
    startMs + Math.max(everyMs, (nowMs() - startMs) / busyPart);
  const outcome = createOutcome(deps);
  const sweepIfOwner = async (run: Run) => {
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
    await eraseSince({ ...deps, signal, onProgress }, isComplete ? new Date(0) : deadLettersSince);
    // A worker takes `storedAt` before its write, which MongoDB may delay.
    deadLettersSince = new Date(startedAt.getTime() - deadLettersOverlapMs);
    // If this one fails, the next is complete.
    nextCompleteMs = 0;
    const swept = await sweepApplied({ ...deps, isComplete, signal, onProgress });
    nextCompleteMs = isComplete ? after(startMs, dayMs) : dueMs;
    if (!isComplete) nextMs = after(startMs, intervalMs);
    if (swept.conversations + swept.messages > 0) deps.logger.info(swept, 'purged data past its retention');
    // Last: data past its retention is purged without Kafka, too.
    if (isComplete) await deps.forgetPurged();
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
