/**
 * Returns a controller that is aborted with `signal`. `unlink` removes the listener, because the signal can outlive
 * thousands of requests. `AbortSignal.any` would leak a reference for each.
 */
export function linkedController(signal: AbortSignal | undefined) {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', abort);
  return { controller, unlink: () => signal?.removeEventListener('abort', abort) };
}

/** Waits. Rejects with the signal's reason as soon as the signal is aborted. */
export async function sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  const { controller, unlink } = linkedController(signal);
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(resolve, delayMs);
      controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error));
    });
  } finally {
    clearTimeout(timer);
    unlink();
  }
}
