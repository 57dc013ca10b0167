import { type HoldCause, holdCauses } from '../../../shared/control/hold-causes.ts';
import { type HeldBy, isSilent } from '../../../shared/control/progress.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { isOfKafka } from '../../../shared/kafka/errors.ts';
import type { LogState } from '../../../shared/kafka/log-client.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Metrics } from '../metrics.ts';
import { isStarted, type Snapshot } from '../partition/snapshot.ts';

type CommitRun = {
  /** An instant before the ends were read, by MongoDB's clock. */
  asOf: Date;
  log: LogState;
  snapshot: Snapshot[];
  /** The instant up to which each partition is complete, in milliseconds, by `<topic>/<partition>`; 0 if unknown. */
  completeToMs: Map<string, number>;
  watermark: Date;
  /** The partition that holds the watermark back; null without partitions. */
  heldBy: HeldBy | null;
};

type FreshnessDeps = {
  metrics: Metrics;
  allowanceMs: number;
  /** Records before this instant belong to the load of a new generation. */
  startedAt: Date;
  logger: Pick<Logger, 'warn'>;
};

export type FreshnessGauges = {
  /** Sets the gauges after a run. `nowMs` is of a monotonic clock. */
  observe: (nowMs: number, run: CommitRun) => void;
  /** Lets the gauges grow after a failed run, because the log and the progress are unknown since the last good run. */
  observeFailure: (nowMs: number, error: unknown) => void;
};

/** The gauges after the last run that succeeded. */
type LastRun = {
  observedMs: number;
  ageSeconds: number;
  heldSeconds: number;
  /** The lag of each topic. */
  lagSeconds: Map<string, number>;
};

/** Sets the gauges of lag and freshness, once per run of the commit loop. */
export function createFreshnessGauges(deps: FreshnessDeps): FreshnessGauges {
  const { metrics, allowanceMs, startedAt } = deps;
  const logHold = createHoldLog(deps);
  let last: LastRun | null = null;
  const setHeld = (cause: HoldCause | null, seconds: number) => {
    for (const holdCause of Object.keys(holdCauses))
      metrics.held.set({ cause: holdCause }, holdCause === cause ? seconds : 0);
  };
  return {
    observe: (nowMs, run) => {
      const { asOf, log, snapshot, watermark } = run;
      const ageSeconds = secondsSince(asOf, watermark.getTime());
      const knownMs = Math.max(watermark.getTime() + allowanceMs, startedAt.getTime());
      const heldSeconds = secondsSince(asOf, knownMs);
      const lagSeconds = lagSecondsByTopic(run, knownMs);
      last = { observedMs: nowMs, ageSeconds, heldSeconds, lagSeconds };
      metrics.staleness.set(ageSeconds);
      metrics.fanOutWaiting.set(snapshot.reduce((sum, { fanOutWaiting }) => sum + fanOutWaiting, 0));
      const cause = causeOf(run);
      setHeld(cause, heldSeconds);
      logHold(nowMs, run, heldSeconds > 0 ? cause : null);
      setLags(metrics, log, snapshot);
      metrics.lagSeconds.reset();
      for (const [topic, seconds] of lagSeconds) metrics.lagSeconds.set({ topic }, seconds);
    },
    observeFailure: (nowMs, error) => {
      last ??= { observedMs: nowMs, ageSeconds: 0, heldSeconds: 0, lagSeconds: new Map() };
      const { observedMs, ageSeconds, heldSeconds, lagSeconds } = last;
      const elapsedSeconds = (nowMs - observedMs) / 1_000;
      // Records may have arrived since the last successful run.
      for (const [topic, lag] of lagSeconds) metrics.lagSeconds.set({ topic }, lag + elapsedSeconds);
      metrics.staleness.set(ageSeconds + elapsedSeconds);
      setHeld(isOfKafka(error) ? 'unreadable' : 'unsaved', heldSeconds + elapsedSeconds);
    },
  };
}

const secondsSince = (asOf: Date, ms: number): number => Math.max(0, asOf.getTime() - ms) / 1_000;

/** The longest lag of the partitions of each topic. The data is known to be complete up to `knownMs`. */
function lagSecondsByTopic(run: CommitRun, knownMs: number): Map<string, number> {
  const { asOf, log, snapshot, completeToMs } = run;
  const lags = new Map<string, number>();
  for (const partition of snapshot) {
    const completeMs = Math.max(completeToMs.get(partitionKey(partition)) ?? 0, knownMs);
    const lag = isCaughtUp(partition, log) ? 0 : secondsSince(asOf, completeMs);
    const longest = lags.get(partition.topic) ?? 0;
    lags.set(partition.topic, Math.max(longest, lag));
  }
  return lags;
}

function isCaughtUp(partition: Snapshot, { ends }: LogState): boolean {
  const end = ends.get(partitionKey(partition))?.end;
  return end !== undefined && isStarted(partition) && partition.position >= end;
}

/**
 * Returns the cause that holds the watermark back. Returns null without one, or if another projector applies the
 * partition and knows the cause.
 */
function causeOf({ log, snapshot, heldBy, asOf }: CommitRun): HoldCause | null {
  if (heldBy === null) return null;
  if (log.unreachable.length > 0 || !log.ends.has(partitionKey(heldBy))) return 'unreadable';
  const own = ownSnapshotOf(snapshot, heldBy);
  if (own?.cause) return own.cause;
  return isSilent(heldBy.updatedAt, asOf) ? 'unassigned' : null;
}

const ownSnapshotOf = (snapshot: Snapshot[], heldBy: HeldBy): Snapshot | undefined =>
  snapshot.find((partition) => partitionKey(partition) === partitionKey(heldBy));

/** The causes outside of the projectors. An operator finds them in the log. */
const outsideCauses: readonly HoldCause[] = ['unreadable', 'undelivered', 'new_leader', 'open_transaction'];
/** A shorter hold of the watermark is usual, in milliseconds. */
const usualHoldMs = 30_000;

/** Returns a function that logs once that a cause outside of the projectors has held the watermark back for 30 s. */
function createHoldLog({ logger }: FreshnessDeps) {
  const noHold = { mark: '', sinceMs: 0, isLogged: false };
  let hold = noHold;
  return (nowMs: number, { heldBy, snapshot, log }: CommitRun, cause: HoldCause | null): void => {
    if (heldBy === null || cause === null) {
      hold = noHold;
      return;
    }
    const { topic, partition } = heldBy;
    const { position, throttledMs } = ownSnapshotOf(snapshot, heldBy) ?? {};
    // A broker that does not answer holds the watermark back although partitions of other brokers move.
    const mark = cause === 'unreadable' ? cause : `${partitionKey(heldBy)} ${cause} ${position}`;
    if (hold.mark !== mark) hold = { mark, sinceMs: nowMs, isLogged: false };
    if (hold.isLogged || nowMs - hold.sinceMs < usualHoldMs || !outsideCauses.includes(cause)) return;
    hold.isLogged = true;
    const { unreachable } = log;
    logger.warn(
      { topic, partition, position, cause, reason: holdCauses[cause], throttledMs, unreachable },
      'Data-As-Of stands still',
    );
  };
}

function setLags({ lag, position }: Metrics, { ends }: LogState, snapshot: Snapshot[]): void {
  lag.reset();
  position.reset();
  for (const partition of snapshot.filter(isStarted)) {
    const labels = { topic: partition.topic, partition: partition.partition };
    const end = ends.get(partitionKey(partition))?.end ?? 0;
    position.set(labels, partition.position);
    lag.set(labels, Math.max(0, end - partition.position));
  }
}
