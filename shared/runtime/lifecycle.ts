import type { Logger } from './logger.ts';

export type Closer = { name: string; close: () => Promise<unknown> };

/** For a `main`: what `starting` gives, or its error in the log and exit code 1, as for a port that is taken. */
export async function startedOrExit<T>(logger: Logger, starting: Promise<T>): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    logger.fatal({ error }, 'the service could not start');
    return process.exit(1);
  }
}

/**
 * Stops a service once, on SIGTERM or SIGINT or when told to: the closers run in order, under one deadline.
 * The process exits with `code`, or with 1 when the deadline passes first.
 */
export function onShutdown(logger: Logger, closers: Closer[], deadlineMs: number): (code: number) => void {
  let stopping = false;
  const stop = (code: number) => {
    if (stopping) return;
    stopping = true;
    const late = setTimeout(() => {
      logger.fatal({ deadlineMs }, 'shutdown did not finish in time');
      process.exit(1);
    }, deadlineMs);
    void runAll(logger, closers).then((clean) => {
      clearTimeout(late);
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
