import type { Db } from 'mongodb';
import { raiseWatermark } from '../../../shared/control/progress.ts';
import { createSampler } from '../../../shared/control/samples.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { explained, isTransient } from '../../../shared/kafka/errors.ts';
import type { LogClient, LogOffsets, LogState } from '../../../shared/kafka/log-client.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat } from '../../../shared/runtime/repeat.ts';
import type { StoreClock } from '../../../shared/store/clock.ts';
import { retryPauseMs } from '../../../shared/store/errors.ts';
import type { KafkaMonitor } from '../kafka-monitor.ts';
import type { Metrics } from '../metrics.ts';
import type { AssignedPartitions } from '../partition/assigned-partitions.ts';
import type { Positions } from '../partition/positions.ts';
import { isStarted, type Snapshot } from '../partition/snapshot.ts';
import type { RefusalLimit } from '../refusal-limit.ts';
import { createFreshnessGauges } from './freshness.ts';
import type { Liveness, ObservedPartition } from './liveness.ts';
import { createProgressRecorder, readSavedPositions } from './progress.ts';

export type CommitLoopDeps = {
  control: Db;
  generation: number;
  /** The id of this process in the register of processes. */
  processId: string;
  topics: string[];
  log: Pick<LogClient, 'read'>;
  /** The lateness allowance, by which the watermark lags. */
  allowanceMs: number;
  /** Records before this instant belong to the load of a new generation. */
  startedAt: Date;
  positions: Positions;
  liveness: Liveness;
  /** Announces that Kafka does not answer. */
  kafkaMonitor: Pick<KafkaMonitor, 'track'>;
  refusalLimit: RefusalLimit;
  /** Called if the servers refuse this process. It must then exit with an error. */
  onFatal: (error: Error) => void;
  /** MongoDB's clock. No other clock decides the instant up to which the documents are complete. */
  clock: Pick<StoreClock, 'read'>;
  /** A monotonic clock, in milliseconds. */
  nowMs: () => number;
  metrics: Metrics;
  logger: Logger;
};

export type CommitLoop = {
  /** Saves progress, raises the watermark and commits, once. Rejects if one of them fails. */
  flush: () => Promise<void>;
  /** The watermark after the last run. */
  watermarkMs: () => number;
  stop: () => Promise<void>;
};

/**
 * MongoDB or the brokers have refused this process for a minute. The next process reads settings and certificates
 * again.
 */
class Refused extends Error {
  override name = 'Refused';
}

/**
 * Runs once a second: reads the end offsets, registers new partitions, saves the progress of the assigned partitions
 * and raises the watermark, then commits. The commit is last, so no committed offset is ahead of saved progress. The
 * next runs do not wait for a commit. Otherwise a group coordinator that is away would hold back the watermark.
 */
export function startCommitLoop(
  deps: CommitLoopDeps,
  partitions: AssignedPartitions,
  intervalMs = 1_000,
): CommitLoop {
  const { control, generation, liveness, nowMs } = deps;
  const progress = createProgressRecorder(deps);
  const sample = createSampler(deps);
  const gauges = createFreshnessGauges(deps);
  let watermarkMs = 0;
  let committing: Promise<void> | null = null;

  const save = async (): Promise<Snapshot[]> => {
    // Read before the ends of the logs, so every record that was published up to this instant lies before those ends.
    const asOf = await deps.clock.read();
    const log = await deps.kafkaMonitor.track(deps.log.read(deps.topics));
    await partitions.detectGaps(log);
    await progress.register(log.partitions, asOf);
    const snapshot = partitions.snapshot(log.ends);
    await reportPositions(deps, log, snapshot);
    // A broker that does not answer may know further partitions, so no partition is complete up to this instant.
    const ends = log.unreachable.length > 0 ? new Map<string, LogOffsets>() : log.ends;
    const completeToMs = await progress.save(snapshot, ends, asOf);
    const raised = await raiseWatermark(control, generation, deps.topics, asOf);
    watermarkMs = raised.watermark.getTime();
    await sample(asOf, raised.watermark);
    gauges.observe(nowMs(), { asOf, log, snapshot, completeToMs, ...raised });
    liveness.observe(nowMs(), observedPartitions(deps.positions, log, snapshot));
    deps.refusalLimit.clear();
    return snapshot;
  };
  const run = async () => {
    const snapshot = await save();
    committing ??= tryCommit(deps, partitions, snapshot).finally(() => {
      committing = null;
    });
  };

  const { stop } = repeat(run, {
    intervalMs,
    retryMs: (error, failures) => retryPauseMs(error, failures, intervalMs),
    onError: (error) => {
      gauges.observeFailure(nowMs(), error);
      reportFailure(deps, error);
    },
  });
  return {
    flush: async () => {
      // Otherwise an earlier commit might arrive later, and take this one back.
      await committing;
      await partitions.commit(await save());
    },
    watermarkMs: () => watermarkMs,
    stop,
  };
}

function reportFailure(
  { liveness, nowMs, logger, refusalLimit, onFatal }: CommitLoopDeps,
  error: unknown,
): void {
  if (isTransient(error)) liveness.observeUnavailable(nowMs());
  logger.warn({ error }, 'could not save progress; trying again');
  if (refusalLimit.isReached(error)) onFatal(new Refused(explained(error), { cause: error }));
}

async function tryCommit(deps: CommitLoopDeps, partitions: AssignedPartitions, snapshot: Snapshot[]) {
  try {
    await partitions.commit(snapshot);
    deps.liveness.observeCommit(deps.nowMs());
  } catch (error) {
    deps.logger.warn({ error }, 'could not commit the offsets; trying again');
  }
}

async function reportPositions(deps: CommitLoopDeps, log: LogState, snapshot: Snapshot[]) {
  const { control, generation, positions } = deps;
  for (const [key, { end }] of log.ends) positions.observe(key, { end });
  // Other projectors apply the remaining partitions, and have saved their positions.
  const ownCount = snapshot.filter(isStarted).length;
  if (log.partitions.length <= ownCount) return;
  const savedPositions = await readSavedPositions(control, generation);
  for (const [key, position] of savedPositions) positions.observe(key, { position });
}

/**
 * Returns the partitions that liveness checks, each with the offset up to which its records can be applied now: the
 * last stable offset if a transaction is open, and at most the load end of a build. Leaves out a partition that waits
 * for the chunk of another partition, because liveness checks that other one.
 */
export function observedPartitions(
  positions: Pick<Positions, 'loadEnd'>,
  { ends }: Pick<LogState, 'ends'>,
  snapshot: Snapshot[],
): ObservedPartition[] {
  const observed: ObservedPartition[] = [];
  for (const partition of snapshot) {
    if (partition.isQueued) continue;
    const key = partitionKey(partition);
    const { position, progressCount } = partition;
    const log = ends.get(key);
    const end = log ? Math.min(log.stable, positions.loadEnd(key)) : null;
    observed.push({ key, position, end, progressCount });
  }
  return observed;
}
