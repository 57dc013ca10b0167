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

/** The maximum of traces that wait while MongoDB is unavailable. Each takes below 1 KB as a rule, and 4 KB at most. */
const queuedMax = 10_000;
/** The traces of one batch. To encode it delays requests by a few milliseconds at most, and it is far below 16 MB. */
const batchMax = 250;
/** The pause between two writes, and after a failed write. */
const flushIntervalMs = 500;
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
  let unreported = 0;
  const lose = (count: number, reason: 'queue_full' | 'shutdown') => {
    lost.inc({ reason }, count);
    unreported += count;
  };
  const report = () => {
    if (unreported > 0) logger.warn({ traces: unreported }, 'request traces were lost');
    unreported = 0;
  };
  const writeBatch = async () => {
    if (batch.length === 0) batch = queue.splice(0, batchMax);
    if (batch.length > 0) await write(batch);
    batch = [];
    hasFailed = false;
  };
  const flush = async () => {
    report();
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
    while (batch.length + queue.length > 0)
      await writeBatch().catch((error: unknown) => {
        onError(error);
        return sleep(100, undefined, { ref: false });
      });
  };
  return {
    /** Never waits and never fails. If the queue is full, the trace is lost and counted. */
    add: (trace: RequestTrace): void => {
      if (batch.length + queue.length >= queuedMax) lose(1, 'queue_full');
      else queue.push(trace);
    },
    /** Writes queued traces until the grace period ends; the remaining traces are lost and counted. */
    stop: async (): Promise<void> => {
      await within(shutdownGraceMs, drain(), () => undefined);
      lose(batch.length + queue.splice(0).length, 'shutdown');
      batch = [];
      report();
    },
  };
}
