import type { Admin } from 'kafkajs';
import type { Db } from 'mongodb';
import { watermark } from '../../../shared/runtime/generation.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Metrics } from '../metrics.ts';
import type { Consuming } from './consumer.ts';
import { announcePartitions, endOffsets, recordProgress } from './progress.ts';

export type FlushDeps = {
  control: Db;
  admin: Admin;
  generation: number;
  topics: string[];
  allowanceMs: number;
  metrics: Metrics;
  logger: Logger;
  now: () => Date;
};

export type Flusher = {
  /** Records progress and commits, once. */
  flush: () => Promise<void>;
  stop: () => Promise<void>;
  /** When the last flush succeeded, in milliseconds. */
  lastFlushMs: () => number;
  /** The watermark as of the last flush. */
  watermarkMs: () => number;
};

/**
 * Once a second: reads the log's ends, makes new partitions known, records how far each partition of ours is
 * applied and complete, then commits. In that order, so that no offset is committed ahead of its record.
 */
export function startFlusher(deps: FlushDeps, consuming: Consuming, intervalMs = 1_000): Flusher {
  const known = new Set<string>();
  let lastFlushMs = deps.now().getTime();
  let watermarkMs = 0;
  let stopped = false;

  const flush = async () => {
    const asOf = deps.now();
    const ends = await endOffsets(deps.admin, deps.topics);
    const fresh = [...ends.keys()].filter((key) => !known.has(key));
    if (fresh.length > 0) await announcePartitions(deps.control, deps.generation, fresh, asOf);
    for (const key of fresh) known.add(key);
    const snapshot = consuming.snapshot();
    await recordProgress(deps, snapshot, ends, asOf);
    await consuming.commit(snapshot);
    deps.metrics.lag.reset();
    for (const { topic, partition, position } of snapshot) {
      const lag = Math.max(0, (ends.get(`${topic}/${partition}`)?.end ?? 0) - position);
      deps.metrics.lag.set({ topic, partition }, lag);
    }
    watermarkMs = (await watermark(deps.control, deps.generation))?.getTime() ?? 0;
    deps.metrics.staleness.set((deps.now().getTime() - watermarkMs) / 1_000);
    lastFlushMs = deps.now().getTime();
  };

  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const tick = () => {
    running = flush().catch((error: unknown) => {
      deps.logger.warn({ error }, 'progress could not be recorded; trying again');
    });
    void running.then(() => {
      if (!stopped) timer = setTimeout(tick, intervalMs);
    });
  };
  timer = setTimeout(tick, 0);
  return {
    flush,
    lastFlushMs: () => lastFlushMs,
    watermarkMs: () => watermarkMs,
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
