import type { Logger } from './logger.ts';
import { within } from './within.ts';

export type Closer = {
  name: string;
  close: () => Promise<unknown>;
  /** Its time limit, after which the next closer runs. A closer may also use the time that earlier closers saved. */
  deadlineMs: number;
};

/** The parts of its process that a shutdown needs. */
export type Host = {
  on: (signal: 'SIGTERM' | 'SIGINT', stop: () => void) => unknown;
  exit: (code: number) => unknown;
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
 * if an earlier one fails or hangs, and together within the sum of their deadlines. The process exits with `code`, or
 * with 1 if a closer fails or runs out of time.
 */
export function onShutdown(
  logger: Logger,
  closers: Closer[],
  { on, exit }: Host = { on: process.on.bind(process), exit: process.exit.bind(process) },
): (code: number) => void {
  let stopping = false;
  const stop = async (code: number) => {
    if (stopping) return;
    stopping = true;
    let exitCode = code;
    let untilMs = performance.now();
    for (const { name: closer, close, deadlineMs } of closers) {
      untilMs += deadlineMs;
      // A closer has at least its own limit, even if this process has stalled.
      const leftMs = Math.max(deadlineMs, Math.round(untilMs - performance.now()));
      try {
        await within(leftMs, close(), () => {
          throw new Error(`not closed within ${leftMs} ms`);
        });
      } catch (error) {
        exitCode = 1;
        logger.error({ error, closer }, 'could not be closed');
      }
    }
    exit(exitCode);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    on(signal, () => {
      logger.info({ signal }, 'stopping');
      void stop(0);
    });
  }
  return (code) => void stop(code);
}
