/**
 * A controller that is aborted with `signal`. `unlink` lets go of the signal, which may outlive thousands of
 * requests: `AbortSignal.any` would keep something of each.
 */
export function linkedController(signal: AbortSignal | undefined) {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', abort);
  return { controller, unlink: () => signal?.removeEventListener('abort', abort) };
}

/** Waits; fails with the signal's reason as soon as that is aborted. */
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
