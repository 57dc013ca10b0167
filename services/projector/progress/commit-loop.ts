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
import { createDeliveryLog } from './delivery-log.ts';
import { createFreshnessGauges } from './freshness.ts';
import type { Liveness, ObservedPartition } from './liveness.ts';
import { createProgressRecorder, recordedPositions } from './progress.ts';
import { createUnreadLog } from './unread-log.ts';

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
  /** The servers refuse this process: it must exit with an error. */
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

/** MongoDB or the brokers have refused this process for long. A process that reads its settings again may be needed. */
class Refused extends Error {
  override name = 'Refused';
}

/** Fewer new records do not justify an extra run. */
const extraRunMin = 1_000;

/**
 * Runs once a second, and at the end of a backlog: reads the end offsets, registers new partitions, saves the progress
 * of the assigned partitions and raises the watermark, then commits. It commits last, so that no committed offset is
 * ahead of saved progress. The next runs do not wait for a commit: a group coordinator that is away delays no
 * freshness.
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
  const logDelivery = createDeliveryLog(deps);
  const logUnread = createUnreadLog(deps);
  let watermarkMs = 0;
  let appliedSince = 0;
  let committing: Promise<void> | null = null;

  const save = async (): Promise<Snapshot[]> => {
    // Before the ends are read: every record that was published until this instant lies before them.
    const asOf = await deps.clock.read();
    appliedSince = 0;
    const log = await deps.kafkaMonitor.track(deps.log.read(deps.topics));
    await partitions.detectGaps(log);
    logUnread(log, await progress.register(log.partitions, asOf));
    const snapshot = partitions.snapshot(log.ends);
    logDelivery(nowMs(), snapshot, log.ends);
    await reportPositions(deps, log, snapshot);
    // While a broker may know more partitions than the others, no instant counts as complete.
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
    committing ??= tryCommit(deps, partitions, snapshot).finally(() => (committing = null));
  };

  const { runNow, stop } = repeat(run, {
    intervalMs,
    retryMs: (error, failures) => retryPauseMs(error, failures, intervalMs),
    onError: (error) => {
      gauges.observeFailure(nowMs(), error);
      reportFailure(deps, error);
    },
  });
  // If a backlog ends, the next run starts at once.
  partitions.onApplied((_partition, { events, rejected }) => {
    appliedSince += events + rejected.length;
    if (appliedSince >= extraRunMin && partitions.isCaughtUp()) runNow();
  });
  return {
    flush: async () => {
      // An earlier commit that arrives late must not take back a later one.
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
  // Other projectors apply the remaining partitions.
  if (log.partitions.length > snapshot.filter(isStarted).length)
    for (const [key, position] of await recordedPositions(control, generation))
      positions.observe(key, { position });
}

/**
 * Skips a partition that waits for another's chunk: liveness checks that other partition. An open transaction ends the
 * records to apply at the last stable offset, and the load of a build at its load end. A partition without a start
 * offset counts as one with a record to apply, unless it has no leader: to find the offset is work to be done.
 */
export const observedPartitions = (
  positions: Pick<Positions, 'loadEnd'>,
  { ends }: Pick<LogState, 'ends'>,
  snapshot: Snapshot[],
): ObservedPartition[] =>
  snapshot.flatMap((item) => {
    if (item.isQueued) return [];
    const key = partitionKey(item);
    const { position, progressCount } = item;
    const end = Math.min(ends.get(key)?.stable ?? -1, positions.loadEnd(key));
    return { key, position, end, progressCount };
  });
