import type { MongoClient } from 'mongodb';
import {
  type ConnectionMonitor,
  monitorConnections,
  type MonitorTimes,
} from '../runtime/connection-monitor.ts';
import { errorMessage } from '../runtime/error-message.ts';
import { within } from '../runtime/within.ts';
import { controlDatabase } from '../store/connection.ts';
import { classifyStoreError } from '../store/errors.ts';
import { generationsOf } from './generations.ts';

type PoolMonitorDeps = {
  /** The clients of this process, by a name for operators. */
  pools: Record<string, MongoClient>;
  /** Creates a client with the same settings, which the monitor uses for one read and then closes. */
  createFresh: () => MongoClient;
  /** The name of the control database. */
  database: string;
  logger: { warn: (fields: object, message: string) => void };
  /** A monotonic clock, in milliseconds; `performance.now` by default. */
  nowMs?: () => number;
};

/** MongoDB ends the read of a check after this time, in milliseconds. */
const maxTimeMS = 5_000;
/**
 * Before the monitor reopens a client, it waits at most this long for the old connections to close, in milliseconds.
 */
const closeWithinMs = 3_000;

/**
 * Reads the registry through each pool every few seconds. If an operator drops a user and creates it again, MongoDB
 * refuses the old sessions forever, and the driver keeps their connections. The monitor then reopens the pool.
 */
export function monitorPools(
  { pools, createFresh, database, logger, nowMs = () => performance.now() }: PoolMonitorDeps,
  times: MonitorTimes = {},
): ConnectionMonitor {
  let isStopped = false;
  const read = async (client: MongoClient) => {
    // Connects first: if an operation connects implicitly and fails, the driver's topology stays closed.
    await client.connect();
    const registry = generationsOf(controlDatabase(client, database));
    await registry.findOne({ _id: 'active' }, { projection: { _id: 1 }, maxTimeMS });
  };
  const reads: Record<string, () => Promise<void>> = {};
  for (const [name, client] of Object.entries(pools)) reads[name] = () => read(client);
  const monitor = monitorConnections(
    {
      server: 'MongoDB',
      reads,
      readFresh: async () => {
        const client = createFresh();
        try {
          await read(client);
        } finally {
          // Not awaited, because a server that does not answer would delay the result.
          void client.close().catch(() => undefined);
        }
      },
      isFailure: (error) => !isPoolExhausted(error) && classifyStoreError(error).errorClass !== 'overloaded',
      repair: async (name, error) => {
        const client = pools[name];
        if (!client || classifyStoreError(error).errorClass !== 'unauthorized') return;
        logger.warn(
          { pool: name, reason: errorMessage(error) },
          'MongoDB refuses the user on old connections, but not on a new one; the pool is opened again',
        );
        await within(closeWithinMs, client.close(), () => undefined);
        if (!isStopped) await client.connect();
      },
      nowMs,
    },
    times,
  );
  return {
    failure: monitor.failure,
    stop: () => {
      isStopped = true;
      monitor.stop();
    },
  };
}

/** Whether all connections of the pool are in use, which is not a failure of the connections. */
const isPoolExhausted = (error: unknown): boolean =>
  error instanceof Error && error.name === 'MongoWaitQueueTimeoutError';
