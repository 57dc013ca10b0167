import { StoreUnavailable } from './store-errors.ts';

/** How long one read of the store may take, in milliseconds; then the client gets a 503. */
export const readTimeoutMs = 10_000;

/** Ends a read whose server has gone silent: the driver drops the connection and throws a `TimeoutError`. */
export const readDeadline = () => AbortSignal.timeout(readTimeoutMs);

/** The same for reads that take no signal. The read itself is left to end as it may. */
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
