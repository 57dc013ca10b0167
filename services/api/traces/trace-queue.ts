import { setTimeout as sleep } from 'node:timers/promises';
import type { Counter } from 'prom-client';
import type { RequestTrace } from '../../../shared/control/request-traces.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat } from '../../../shared/runtime/repeat.ts';
import { within } from '../../../shared/runtime/within.ts';

type TraceQueueDeps = {
  /** Stores a batch. Accepts a batch that an earlier attempt has stored. */
  write: (batch: RequestTrace[]) => Promise<void>;
  lost: Counter<'reason'>;
  logger: Logger;
};

/** The maximum of traces that wait while MongoDB is unavailable. Most take less than 1 KB, so they take about 10 MB. */
const queuedMax = 10_000;
/** The traces of one batch. A larger batch would delay requests while it is encoded. Each trace takes 4 KB at most. */
const batchMax = 250;
/** The pause between two writes, and after a failed write. */
const flushIntervalMs = 500;
/** The pause after a failed write during the shutdown, which leaves time for several attempts. */
const drainRetryMs = 100;
const shutdownGraceMs = 3_000;

/**
 * Queues traces and writes them in batches, in the background. A failed batch is retried, so an outage of the store
 * loses no trace until the queue is full.
 */
export function startTraceQueue({ write, lost, logger }: TraceQueueDeps) {
  const queue: RequestTrace[] = [];
  /** The batch to write. MongoDB may have stored a batch whose write failed, so a retry writes it unchanged. */
  let batch: RequestTrace[] = [];
  let hasFailed = false;
  let unreportedCount = 0;
  const countLost = (count: number, reason: 'queue_full' | 'shutdown') => {
    lost.inc({ reason }, count);
    unreportedCount += count;
  };
  const logLost = () => {
    if (unreportedCount > 0) logger.warn({ traces: unreportedCount }, 'request traces were lost');
    unreportedCount = 0;
  };
  const writeBatch = async () => {
    if (batch.length === 0) batch = queue.splice(0, batchMax);
    if (batch.length > 0) await write(batch);
    batch = [];
    hasFailed = false;
  };
  const flush = async () => {
    logLost();
    do await writeBatch();
    while (queue.length >= batchMax);
  };
  const onError = (error: unknown) => {
    if (!hasFailed) logger.warn({ error }, 'request traces could not be written; trying again');
    hasFailed = true;
  };
  const flushing = repeat(flush, { intervalMs: flushIntervalMs, onError });
  const drain = async () => {
    await flushing.stop();
    while (batch.length + queue.length > 0) {
      try {
        await writeBatch();
      } catch (error) {
        onError(error);
        // Without `ref: false`, the pause would keep the process alive after the grace period.
        await sleep(drainRetryMs, undefined, { ref: false });
      }
    }
  };
  return {
    /** Never waits and never fails. If the queue is full, the trace is lost and counted. */
    add: (trace: RequestTrace): void => {
      if (batch.length + queue.length >= queuedMax) countLost(1, 'queue_full');
      else queue.push(trace);
    },
    /** Writes queued traces until the grace period ends; the remaining traces are lost and counted. */
    stop: async (): Promise<void> => {
      await within(shutdownGraceMs, drain(), () => undefined);
      countLost(batch.length + queue.splice(0).length, 'shutdown');
      batch = [];
      logLost();
    },
  };
}
