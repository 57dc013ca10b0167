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

/**
 * The time limits of every read. After `readTimeoutMs` the driver drops the connection and throws a `TimeoutError`. A read
 * of data ends them with `using`: thousands of signals that wait for their time would outlive many garbage collections.
 */
export function readOptions(): { maxTimeMS: number; signal: AbortSignal } & Disposable {
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
