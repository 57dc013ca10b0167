import { errorMessage } from './error-message.ts';
import { repeat } from './repeat.ts';
import { within } from './within.ts';

/** A check waits at most this long for one client, in milliseconds. */
const readWithinMs = 10_000;

export type ConnectionMonitor = {
  /**
   * The reason for a restart, in one line. Null while the clients work, and also while a new connection fails, because
   * a restart would not help then.
   */
  failure: () => string | null;
  /** Ends the checks. Does not wait for the check in progress. */
  stop: () => void;
};

/** The clients of one server in this process. */
export type MonitoredClients = {
  /** The server's name for operators. */
  server: string;
  /** A small read through the open connections of each client, by the client's name for operators. */
  reads: Record<string, () => Promise<unknown>>;
  /** The same read through a new connection, which is then closed. */
  readFresh: () => Promise<unknown>;
  /** Whether the error of a read is the fault of its connection, as every error is by default. */
  isFailure?: (error: unknown) => boolean;
  /** Called with each client that has failed while a new connection worked, at most once in `freshEveryMs`. */
  repair?: (name: string, error: unknown) => Promise<void>;
  /** A monotonic clock, in milliseconds; `performance.now` by default. */
  nowMs?: () => number;
};

export type MonitorTimes = {
  /** The pause between two checks, in milliseconds. */
  everyMs?: number;
  /** The least time between two new connections, in milliseconds. */
  freshEveryMs?: number;
  /** A client that fails for longer than this, while new connections work, needs a restart. In milliseconds. */
  failingMaxMs?: number;
};

/** A client whose reads fail while new connections work. */
type FailingClient = {
  /** When a check first found this. */
  sinceMs: number;
  /** When a check last found this. A repair may have helped since then. */
  lastMs: number;
  error: unknown;
};

/**
 * Reads through each client every few seconds, because a client can keep dead connections forever while a new client
 * would work. If a read fails and a new connection works, calls `repair`. After some minutes of this, `failure` asks
 * for a restart.
 */
export function monitorConnections(
  clients: MonitoredClients,
  { everyMs = 2_000, freshEveryMs = 5_000, failingMaxMs = 180_000 }: MonitorTimes = {},
): ConnectionMonitor {
  const { server, repair, nowMs = () => performance.now() } = clients;
  const failing = new Map<string, FailingClient>();
  let isStopped = false;
  /** When a new connection was last tried; null before the first try. */
  let triedMs: number | null = null;
  const wasJustTried = () => triedMs !== null && nowMs() - triedMs < freshEveryMs;

  const check = async () => {
    const failed = await readAll(clients);
    for (const name of failing.keys()) {
      if (!failed.has(name)) failing.delete(name);
    }
    if (isStopped || failed.size === 0 || wasJustTried()) return;
    triedMs = nowMs();
    if (!(await isReachable(clients))) {
      failing.clear();
      return;
    }
    for (const [name, error] of failed) {
      const lastMs = nowMs();
      failing.set(name, { sinceMs: failing.get(name)?.sinceMs ?? lastMs, lastMs, error });
      if (!isStopped) await repair?.(name, error);
    }
  };
  // The next check finds an error again, so it is not reported here.
  const checking = repeat(check, { intervalMs: everyMs, onError: () => undefined });
  return {
    failure: () => {
      for (const [name, { sinceMs, lastMs, error }] of failing) {
        const lastedMs = lastMs - sinceMs;
        if (lastedMs > failingMaxMs)
          return `the connections to ${server} (${name}) have failed for ${Math.round(lastedMs / 1_000)} s, although a new one works: ${errorMessage(error)}`;
      }
      return null;
    },
    stop: () => {
      isStopped = true;
      void checking.stop();
    },
  };
}

/** Reads through each client. Returns the errors that are the fault of a connection, by the client's name. */
async function readAll({ reads, isFailure = () => true }: MonitoredClients): Promise<Map<string, unknown>> {
  const failed = new Map<string, unknown>();
  const readings = Object.entries(reads).map(async ([name, read]) => {
    try {
      await withTimeLimit(read());
    } catch (error) {
      if (isFailure(error)) failed.set(name, error);
    }
  });
  await Promise.all(readings);
  return failed;
}

/** Whether a read through a new connection succeeds. */
async function isReachable({ readFresh }: MonitoredClients): Promise<boolean> {
  try {
    await withTimeLimit(readFresh());
    return true;
  } catch {
    return false;
  }
}

/** Resolves to the answer of a read. Rejects after `readWithinMs`. */
const withTimeLimit = <T>(reading: Promise<T>): Promise<T> =>
  within(readWithinMs, reading, () => {
    throw new Error(`no answer within ${readWithinMs} ms`);
  });
