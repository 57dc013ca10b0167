import { setTimeout as sleep } from 'node:timers/promises';
import type { Counter } from 'prom-client';
import type { RequestTrace } from '../../../shared/store/request-traces.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat } from '../../../shared/runtime/repeat.ts';
import { within } from '../../../shared/runtime/within.ts';

type TraceQueue = {
  /** Never waits and never fails. If the queue is full, the trace is lost and counted. */
  add: (trace: RequestTrace) => void;
  /** Writes queued traces until the grace period ends; the remaining traces are lost and counted. */
  stop: () => Promise<void>;
};

type LossReason = 'queue_full' | 'shutdown';

type TraceQueueDeps = {
  /** Stores a batch. A batch that has been stored already is no error. */
  write: (batch: RequestTrace[]) => Promise<void>;
  lost: Counter<'reason'>;
  logger: Logger;
};

/** At about 1 KB each, this limits the memory that an unavailable store can cost; further traces are lost. */
const queuedMax = 10_000;
/** Small enough that encoding a batch delays requests by a few milliseconds at most, and far below 16 MB. */
const batchMax = 250;
/** The maximum age of a trace before it is written, while the store answers; also the pause after a failed write. */
const flushIntervalMs = 500;
const shutdownGraceMs = 3_000;

/**
 * Queues traces and writes them in batches, in the background. A failed batch stays at the head of the queue and is
 * retried, so an outage of the store loses no trace until the queue is full.
 */
export function startTraceQueue(
  { write, lost, logger }: TraceQueueDeps,
  limits: { queuedMax?: number; flushIntervalMs?: number; shutdownGraceMs?: number } = {},
): TraceQueue {
  const max = { queuedMax, flushIntervalMs, shutdownGraceMs, ...limits };
  const queue: RequestTrace[] = [];
  /** The batch of a failed write, which may have been stored: it stays as it is. */
  let failed: RequestTrace[] | null = null;
  let unreported = 0;
  const lose = (count: number, reason: LossReason) => {
    lost.inc({ reason }, count);
    unreported += count;
  };
  const report = () => {
    if (unreported > 0) logger.warn({ traces: unreported }, 'request traces were lost');
    unreported = 0;
  };
  const writeBatch = async () => {
    const batch = failed ?? queue.slice(0, batchMax);
    try {
      await write(batch);
      queue.splice(0, batch.length);
      failed = null;
    } catch (error) {
      if (!failed) logger.warn({ error }, 'request traces could not be written; trying again');
      failed = batch;
    }
  };
  const flush = async () => {
    if (queue.length > 0) await writeBatch();
    while (!failed && queue.length >= batchMax) await writeBatch();
    report();
  };
  const flushing = repeat(flush, { intervalMs: max.flushIntervalMs, onError: () => undefined });
  const drain = async () => {
    await flushing.stop();
    while (queue.length > 0) {
      await writeBatch();
      if (failed) await sleep(100, undefined, { ref: false });
    }
  };
  return {
    add: (trace) => {
      if (queue.length >= max.queuedMax) lose(1, 'queue_full');
      else queue.push(trace);
    },
    stop: async () => {
      await within(max.shutdownGraceMs, drain(), () => undefined);
      lose(queue.splice(0).length, 'shutdown');
      report();
    },
  };
}
