import type { Logger } from './logger.ts';

export type Closer = { name: string; close: () => Promise<unknown> };

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
 * Stops a service once, on SIGTERM, on SIGINT or when the returned function is called. The closers run in order, under
 * one deadline. The process exits with `code`, or with 1 if a closer fails or the deadline passes.
 */
export function onShutdown(logger: Logger, closers: Closer[], deadlineMs: number): (code: number) => void {
  let stopping = false;
  const stop = (code: number) => {
    if (stopping) return;
    stopping = true;
    const deadline = setTimeout(() => {
      logger.fatal({ deadlineMs }, 'shutdown did not finish in time');
      process.exit(1);
    }, deadlineMs);
    void runAll(logger, closers).then((clean) => {
      clearTimeout(deadline);
      process.exit(clean ? code : 1);
    });
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      logger.info({ signal }, 'stopping');
      stop(0);
    });
  }
  return stop;
}

async function runAll(logger: Logger, closers: Closer[]): Promise<boolean> {
  let clean = true;
  for (const { name, close } of closers) {
    try {
      await close();
    } catch (error) {
      clean = false;
      logger.error({ error, closer: name }, 'could not be closed');
    }
  }
  return clean;
}
