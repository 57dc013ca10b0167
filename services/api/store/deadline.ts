import { StoreUnavailable } from './store-errors.ts';

/** How long the store may work on one read (`maxTimeMS`); then the client receives a 503. */
export const serverTimeoutMs = 7_000;

/**
 * How long one read may take in all. It is longer than `poolTimeoutMs` and `serverTimeoutMs` together, so that only an
 * unresponsive server costs a connection.
 */
export const readTimeoutMs = 10_000;

/** How long a read waits for a connection of its pool. */
export const poolTimeoutMs = 2_000;

/** How long a connection may take to open: for as long after an outage of the network, a replica answers 503. */
export const connectTimeoutMs = 2_000;

/** Reads that begin within this time of the first one share its signal: each has at least 9.5 s. */
const sharedMs = 500;
let shared = { untilMs: 0, signal: new AbortController().signal };

/**
 * The time limits of every read. When the signal aborts, the driver drops the connection and throws a `TimeoutError`. V8
 * frees a signal with a timeout only when it collects the old generation, so a signal for each read would fill that.
 */
export function readOptions() {
  const nowMs = performance.now();
  if (nowMs >= shared.untilMs)
    shared = { untilMs: nowMs + sharedMs, signal: AbortSignal.timeout(readTimeoutMs) };
  return { maxTimeMS: serverTimeoutMs, signal: shared.signal };
}

/** A time limit for operations that take no signal, such as connecting. The operation itself is not cancelled. */
export async function withDeadline<T>(read: Promise<T>, timeoutMs = readTimeoutMs): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreUnavailable(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([read, expired]);
  } finally {
    clearTimeout(timer);
  }
}
