import type { MongoClient } from 'mongodb';
import { errorMessage } from '../runtime/error-message.ts';
import { repeat } from '../runtime/repeat.ts';
import { within } from '../runtime/within.ts';
import { controlDatabase } from '../store/connection.ts';
import { isOverload, isUserRefusal } from '../store/transient-errors.ts';
import { readRegistry } from './generations.ts';

export type PoolWatch = {
  /** Null while the pools work, or no connection would; otherwise the reason for a restart, in one line. */
  failure: () => string | null;
  /** Starts no further check, and does not wait for the one in progress. */
  stop: () => void;
};

type PoolWatchDeps = {
  /** The clients of this process, by a name for operators. */
  pools: Record<string, MongoClient>;
  /** Creates a client with the same settings. It is used for one read, then closed. */
  createFresh: () => MongoClient;
  /** The name of the control database. */
  database: string;
  logger: { warn: (fields: object, message: string) => void };
  /** A monotonic clock, in milliseconds; `performance.now` by default. */
  nowMs?: () => number;
};

type PoolWatchTimes = {
  /** The pause between two checks, in milliseconds. */
  everyMs?: number;
  /** The least time between two fresh connections, in milliseconds. */
  freshEveryMs?: number;
  /** A pool that has failed for longer than this, while fresh connections worked, needs a restart. In milliseconds. */
  failingMaxMs?: number;
};

/** A check waits at most this long for one client, in milliseconds. */
const readWithinMs = 10_000;
/** MongoDB ends the read of a check after this, in milliseconds. */
const maxTimeMS = 5_000;
/** A client that is opened again waits at most this long for its old connections to close, in milliseconds. */
const closeWithinMs = 3_000;

/** A pool whose reads fail while fresh connections work. */
type Failing = {
  /** The first check that found it so. */
  sinceMs: number;
  /** The last one. Whether the pool still fails since then, after an opening too, is unknown. */
  lastMs: number;
  error: unknown;
};

/**
 * Reads the registry through each pool again and again. If a pool fails and a fresh connection works, the fault is the
 * pool's: after a user was dropped and created again, MongoDB gives its old sessions no rights for good, and the driver
 * keeps their connections. Such a pool is opened again. After some minutes `failure` tells of a pool that still fails.
 */
export function watchPools(
  deps: PoolWatchDeps,
  { everyMs = 2_000, freshEveryMs = 5_000, failingMaxMs = 180_000 }: PoolWatchTimes = {},
): PoolWatch {
  const { pools, createFresh, database, logger, nowMs = () => performance.now() } = deps;
  const failing = new Map<string, Failing>();
  let isStopped = false;
  let freshMs = -Infinity;

  const check = async () => {
    const failed = await readThroughPools(pools, database);
    for (const name of failing.keys()) if (!failed.has(name)) failing.delete(name);
    if (isStopped || failed.size === 0 || nowMs() - freshMs < freshEveryMs) return;
    freshMs = nowMs();
    if (!(await worksFresh(createFresh(), database))) {
      failing.clear();
      return;
    }
    for (const [name, { client, error }] of failed) {
      const lastMs = nowMs();
      failing.set(name, { sinceMs: failing.get(name)?.sinceMs ?? lastMs, lastMs, error });
      if (!isUserRefusal(error) || isStopped) continue;
      logger.warn(
        { pool: name, reason: errorMessage(error) },
        'MongoDB refuses the user on old connections, but not on a new one; they are opened again',
      );
      await within(closeWithinMs, client.close(), () => undefined);
      if (!isStopped) await client.connect();
    }
  };
  // The next check meets the same error.
  const checking = repeat(check, { intervalMs: everyMs, onError: () => undefined });
  return {
    failure: () => {
      for (const [name, { sinceMs, lastMs, error }] of failing) {
        const lastedMs = lastMs - sinceMs;
        if (lastedMs > failingMaxMs)
          return `the connections to MongoDB (${name}) have failed for ${Math.round(lastedMs / 1_000)} s, although a new one works: ${errorMessage(error)}`;
      }
      return null;
    },
    stop: () => {
      isStopped = true;
      void checking.stop();
    },
  };
}

type FailedPool = { client: MongoClient; error: unknown };

/**
 * The pools that fail. One whose connections are all busy, and one of an overloaded MongoDB, does not count as failing.
 */
async function readThroughPools(pools: Record<string, MongoClient>, database: string) {
  const failed = new Map<string, FailedPool>();
  const read = async ([name, client]: [string, MongoClient]) => {
    try {
      await readOnce(client, database);
    } catch (error) {
      const isBusy = error instanceof Error && error.name === 'MongoWaitQueueTimeoutError';
      if (!isBusy && !isOverload(error)) failed.set(name, { client, error });
    }
  };
  await Promise.all(Object.entries(pools).map(read));
  return failed;
}

/** Whether a fresh client can read. Closes it. */
async function worksFresh(client: MongoClient, database: string): Promise<boolean> {
  try {
    await readOnce(client, database);
    return true;
  } catch {
    return false;
  } finally {
    void client.close().catch(() => undefined);
  }
}

async function readOnce(client: MongoClient, database: string): Promise<void> {
  const options = { projection: { _id: 1 }, maxTimeMS };
  // If the first operation connects instead and fails, the driver's topology stays closed.
  const reading = client.connect().then(() => readRegistry(controlDatabase(client, database), options));
  await within(readWithinMs, reading, () => {
    throw new Error(`no answer within ${readWithinMs} ms`);
  });
}
