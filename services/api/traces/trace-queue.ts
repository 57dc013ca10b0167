import { setTimeout as sleep } from 'node:timers/promises';
import type { Counter } from 'prom-client';
import type { RequestTrace } from '../../../shared/store/request-traces.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';

export type TraceQueue = {
  /** Never waits and never fails: a trace that finds the queue full is lost, and counted. */
  add: (trace: RequestTrace) => void;
  /** Writes what is queued, for as long as the grace allows; the rest is lost, and counted. */
  stop: () => Promise<void>;
};

export type LossReason = 'queue_full' | 'refused' | 'shutdown';

export type TraceQueueDeps = {
  /** Stores a batch; gives how many of it the store has refused for good. Rejects when it may be tried again. */
  write: (batch: RequestTrace[]) => Promise<number>;
  written: Counter;
  lost: Counter<'reason'>;
  logger: Logger;
};

/** At about a kilobyte each, the most memory that a store which is away can cost; further traces are lost. */
const queuedMax = 10_000;
/** Small enough that encoding a batch holds requests up by a few milliseconds at most. */
const batchMax = 250;
/** How old a trace may get before it is written, in milliseconds, while the store answers. */
const flushIntervalMs = 500;
/** How long to leave a store alone that has failed, in milliseconds. */
const retryIntervalMs = 1_000;
const shutdownGraceMs = 3_000;

/**
 * Holds traces until a batch of them is written, off the path of any request. A batch that fails stays at the
 * head and is tried again: a store that is away for a while costs no trace until the queue is full.
 */
export function startTraceQueue(
  deps: TraceQueueDeps,
  limits: { queuedMax?: number; flushIntervalMs?: number; shutdownGraceMs?: number } = {},
): TraceQueue {
  const { write, written, lost, logger } = deps;
  const max = { queuedMax, flushIntervalMs, shutdownGraceMs, ...limits };
  const queue: RequestTrace[] = [];
  const stopping = new AbortController();
  const losses = countLosses(lost, logger);
  let isFailing = false;

  const writeBatch = async () => {
    const batch = queue.slice(0, batchMax);
    try {
      const refused = await write(batch);
      queue.splice(0, batch.length);
      written.inc(batch.length - refused);
      losses.add(refused, 'refused');
      isFailing = false;
    } catch (error) {
      if (!isFailing) logger.warn({ error }, 'request traces could not be written; trying again');
      isFailing = true;
    }
  };
  const loop = async () => {
    while (!stopping.signal.aborted) {
      const pauseMs = isFailing ? retryIntervalMs : max.flushIntervalMs;
      await sleep(pauseMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
      if (queue.length > 0) await writeBatch();
      while (!isFailing && queue.length >= batchMax) await writeBatch();
      losses.say();
    }
  };
  const drain = async () => {
    await running;
    while (queue.length > 0) {
      await writeBatch();
      if (isFailing) await sleep(100, undefined, { ref: false });
    }
  };
  const running = loop();
  return {
    add: (trace) => {
      if (queue.length >= max.queuedMax) losses.add(1, 'queue_full');
      else queue.push(trace);
    },
    stop: async () => {
      stopping.abort();
      await Promise.race([drain(), sleep(max.shutdownGraceMs, undefined, { ref: false })]);
      losses.add(queue.splice(0).length, 'shutdown');
      losses.say();
    },
  };
}

/** Counts each loss at once; says how many there were since it last said so. */
function countLosses(lost: Counter<'reason'>, logger: Logger) {
  let unsaid = 0;
  return {
    add: (count: number, reason: LossReason) => {
      lost.inc({ reason }, count);
      unsaid += count;
    },
    say: () => {
      if (unsaid > 0) logger.warn({ traces: unsaid }, 'request traces were lost');
      unsaid = 0;
    },
  };
}
