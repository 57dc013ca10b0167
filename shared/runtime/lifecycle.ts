import type { Logger } from './logger.ts';
import { within } from './within.ts';

export type Closer = {
  name: string;
  close: () => Promise<unknown>;
  /** If it takes longer than this, the next closer runs. */
  deadlineMs: number;
};

/** For a `main`: returns the result of `starting`, or logs its error (such as a port in use) and exits with code 1. */
export async function startedOrExit<T>(logger: Logger, starting: Promise<T>): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    logger.fatal({ error }, 'the service could not start');
    return process.exit(1);
  }
}

/**
 * Stops a service once, on SIGTERM, on SIGINT or when the returned function is called. The closers run in order, even
 * if an earlier one fails or hangs. The process exits with `code`, or with 1 if a closer fails or its deadline passes.
 */
export function onShutdown(logger: Logger, closers: Closer[]): (code: number) => void {
  let stopping = false;
  const stop = async (code: number) => {
    if (stopping) return;
    stopping = true;
    let exitCode = code;
    for (const { name: closer, close, deadlineMs } of closers) {
      try {
        await within(deadlineMs, close(), () => {
          throw new Error(`not closed within ${deadlineMs} ms`);
        });
      } catch (error) {
        exitCode = 1;
        logger.error({ error, closer }, 'could not be closed');
      }
    }
    process.exit(exitCode);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      logger.info({ signal }, 'stopping');
      void stop(0);
    });
  }
  return (code) => void stop(code);
}
