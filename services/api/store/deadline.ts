import { StoreUnavailable } from './store-errors.ts';

/** How long the store may work on one read, in milliseconds (`maxTimeMS`); then the client gets a 503. */
export const serverTimeoutMs = 7_000;

/**
 * How long one read may take in all, in milliseconds. It is longer than what a pooled connection is waited for and
 * what the store is given together: only a server that has gone silent costs its connection.
 */
export const readTimeoutMs = 10_000;

/** How long a read waits for a connection of its pool, in milliseconds. */
export const poolTimeoutMs = 2_000;

/** The limits of time of every read. At the later one the driver drops the connection and throws a `TimeoutError`. */
export const readOptions = () => ({
  maxTimeMS: serverTimeoutMs,
  signal: AbortSignal.timeout(readTimeoutMs),
});

/** The same for what takes no signal, such as connecting. The read itself is left to end as it may. */
export async function withDeadline<T>(read: Promise<T>, timeoutMs = readTimeoutMs): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreUnavailable(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([read, late]);
  } finally {
    clearTimeout(timer);
  }
}
