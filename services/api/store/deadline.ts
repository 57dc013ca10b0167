import { within } from '../../../shared/runtime/within.ts';
import type { ErrorClass } from '../../../shared/store/error-classes.ts';
import { classifyStoreError } from '../../../shared/store/errors.ts';
import { retry } from '../../../shared/store/retry.ts';
import { passingClasses, StoreUnavailable } from './store-errors.ts';

/** How long MongoDB may work on one read (`maxTimeMS`). Then the client gets 503. */
export const serverTimeoutMs = 7_000;

/**
 * The time limit of one read with its retries. `waitQueueTimeoutMS` and `serverTimeoutMs` together are shorter, so
 * MongoDB ends a slow read first, and the driver keeps its connection.
 */
export const readTimeoutMs = 10_000;

/** Whether a read is retried after an error of a class: after an outage of MongoDB, but not after a slow read. */
const isRetriedAfter = (errorClass: ErrorClass): boolean =>
  errorClass !== 'too-slow' && passingClasses.includes(errorClass);

/** The pause before a read is retried, which grows while MongoDB is overloaded. */
const pauseMs = 100;

/** Time limits of the driver, under its names. The limits are short, because a read that meets one is retried. */
export const driverTimeouts = {
  /** How long a read waits for a connection of its pool. */
  waitQueueTimeoutMS: 2_000,
  /** How long a connection may take to open. After an outage of the network, a replica may answer 503 for as long. */
  connectTimeoutMS: 2_000,
  /** How long an attempt waits for a server. */
  serverSelectionTimeoutMS: 1_000,
  /**
   * The time between two reports of a server. The driver gives a server up when a report is `connectTimeoutMS` late. So
   * it leaves a silent primary within 3 s, and the API retries the reads in progress on the successor. A slow read
   * continues while its server reports.
   */
  heartbeatFrequencyMS: 1_000,
};

export type ReadOptions = { maxTimeMS: number; signal: AbortSignal };

/**
 * The time limits of a read. After `readTimeoutMs` the signal aborts: the driver drops the connection and throws a
 * `TimeoutError`. Declare them by `using`, which ends the timer with the read. Otherwise thousands of timers would
 * wait, each with its signal in memory.
 */
export function readOptions(): ReadOptions & Disposable {
  const controller = new AbortController();
  const expire = () =>
    controller.abort(new DOMException(`no answer within ${readTimeoutMs} ms`, 'TimeoutError'));
  const timer = setTimeout(expire, readTimeoutMs).unref();
  return {
    maxTimeMS: serverTimeoutMs,
    signal: controller.signal,
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/**
 * Retries a read until it succeeds or `readTimeoutMs` have passed, so requests wait during an election of a primary and
 * do not fail. Each attempt selects a server. Rejects with the error of the last attempt that ended in time.
 */
export async function readWithRetries<T>(
  read: (limits: ReadOptions) => Promise<T>,
  onRetry?: (error: unknown) => void,
): Promise<T> {
  using limits = readOptions();
  const endMs = performance.now() + readTimeoutMs;
  let failure: unknown;
  const onFailed = (error: unknown, _attempt: number, waitMs: number) => {
    // A passed deadline explains less than the failure before it.
    if (limits.signal.aborted) throw failure ?? error;
    if (!isRetriedAfter(classifyStoreError(error).errorClass)) throw error;
    failure = error;
    onRetry?.(failure);
    if (performance.now() + waitMs >= endMs) throw failure;
  };
  return await retry({ pauseMs, onFailed }, () => read(limits));
}

/** A time limit for operations that take no signal, such as connecting. The operation itself is not cancelled. */
export const withDeadline = <T>(read: Promise<T>, timeoutMs = readTimeoutMs): Promise<T> =>
  within(timeoutMs, read, () => {
    throw new StoreUnavailable(`no answer within ${timeoutMs} ms`);
  });
