/**
 * Returns a controller that aborts when `signal` does. Call `unlink` at the end, because the signal can outlive
 * thousands of requests, and would keep a listener for each. `AbortSignal.any` would also keep a reference for each.
 */
export function linkedController(signal: AbortSignal | undefined) {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', abort);
  return { controller, unlink: () => signal?.removeEventListener('abort', abort) };
}

/** Rejects with the signal's reason as soon as the signal is aborted; otherwise settles like `work`. */
export async function abortable<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  const { controller, unlink } = linkedController(signal);
  try {
    return await new Promise<Result>((resolve, reject) => {
      work.then(resolve, reject);
      controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error));
    });
  } finally {
    unlink();
  }
}

/** Waits. Rejects with the signal's reason as soon as the signal is aborted. */
export async function sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await abortable(
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, delayMs);
      }),
      signal,
    );
  } finally {
    clearTimeout(timer);
  }
}
