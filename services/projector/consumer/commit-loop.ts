import type { Db } from 'mongodb';
import { raiseWatermark } from '../../../shared/store/generations.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Liveness, Watched } from '../runtime/liveness.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { repeat } from '../../../shared/runtime/repeat.ts';
import type { RunningConsumer } from './consumer.ts';
import type { LogClient } from '../kafka/log-client.ts';
import { createLogView } from './log-view.ts';
import type { Positions } from './positions.ts';
import { announcePartitions, createRecorder, recordedPositions, type Snapshot } from './progress.ts';
import { isTransient } from '../runtime/transient-errors.ts';

export type CommitLoopDeps = {
  control: Db;
  log: LogClient;
  generation: number;
  topics: string[];
  allowanceMs: number;
  metrics: Metrics;
  liveness: Liveness;
  positions: Positions;
  logger: Logger;
  now: () => Date;
};

export type CommitLoop = {
  /** Records progress and commits, once. */
  flush: () => Promise<void>;
  /** Counts records that were applied. Where a backlog ends with them, its progress is recorded at once. */
  onApplied: (records: number) => void;
  stop: () => Promise<void>;
  /** The watermark as of the last flush. */
  watermarkMs: () => number;
};

/** So many records since the last turn were a backlog: fewer are not worth a turn of their own. */
const backlogMin = 1_000;

/**
 * Once a second, and at the end of a backlog: reads the log's ends, makes new partitions known, records how far each partition of ours is
 * applied and complete, then commits. In that order, so that no offset is committed ahead of its record.
 */
export function startCommitLoop(
  deps: CommitLoopDeps,
  consuming: RunningConsumer,
  intervalMs = 1_000,
): CommitLoop {
  const known = new Set<string>();
  const readLog = createLogView(deps.log, deps.topics);
  const recorder = createRecorder(deps);
  let watermarkMs = 0;
  let appliedSince = 0;

  const flush = async () => {
    const asOf = deps.now();
    appliedSince = 0;
    const log = await readLog();
    const { ends } = log;
    consuming.detectGaps(log);
    const fresh = [...ends.keys()].filter((key) => !known.has(key));
    if (fresh.length > 0) await announcePartitions(deps.control, deps.generation, fresh, asOf);
    for (const key of fresh) known.add(key);
    const snapshot = consuming.snapshot();
    for (const [key, { end }] of ends) deps.positions.report(key, { end });
    // Others have the rest of the partitions.
    if (ends.size > snapshot.length)
      for (const [key, position] of await recordedPositions(deps.control, deps.generation))
        deps.positions.report(key, { position });
    await recorder.record(snapshot, ends, asOf);
    await consuming.commit(snapshot);
    deps.metrics.lag.reset();
    for (const { topic, partition, position } of snapshot) {
      const lag = Math.max(0, (ends.get(`${topic}/${partition}`)?.end ?? 0) - position);
      deps.metrics.lag.set({ topic, partition }, lag);
    }
    watermarkMs = (await raiseWatermark(deps.control, deps.generation)).getTime();
    deps.metrics.staleness.set((deps.now().getTime() - watermarkMs) / 1_000);
    const seen = [...watched(snapshot, ends), ...consuming.withoutStartOffset().map(withoutStartOffset)];
    deps.liveness.observe(deps.now().getTime(), seen);
  };

  const { hurry, stop } = repeat(flush, {
    intervalMs,
    onError: (error) => {
      if (isTransient(error)) deps.liveness.observeAway(deps.now().getTime());
      deps.logger.warn({ error }, 'progress could not be recorded; trying again');
    },
  });
  const onApplied = (records: number) => {
    appliedSince += records;
    if (appliedSince >= backlogMin && consuming.isCaughtUp()) hurry();
  };
  return { flush, onApplied, watermarkMs: () => watermarkMs, stop };
}

/** To find the place of a partition is work to be done. */
const withoutStartOffset = (key: string): Watched => ({ key, position: -1, end: 0, progressCount: 0 });

const watched = (snapshot: Snapshot[], ends: Map<string, { end: number }>): Watched[] =>
  snapshot.map(({ topic, partition, position, progressCount }) => {
    const key = `${topic}/${partition}`;
    return { key, position, end: ends.get(key)?.end ?? 0, progressCount };
  });
