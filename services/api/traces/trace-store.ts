import { hostname } from 'node:os';
import type { Db } from 'mongodb';
import {
  type RequestTrace,
  requestTraceIndexes,
  requestTracesOf,
  type TraceBatch,
} from '../../../shared/control/request-traces.ts';
import { dayMs } from '../../../shared/documents/instant.ts';
import { builtByMajority } from '../../../shared/store/indexes.ts';
import { runCommand } from '../../../shared/store/run-command.ts';

/** The time limit of a command. After it, the driver drops the connection, and the queue retries the batch. */
const writeTimeoutMs = 5_000;
const timeLimit = () => ({ signal: AbortSignal.timeout(writeTimeoutMs) });
const duplicateKey = 11_000;

type TraceWriterDeps = {
  control: Db;
  /** MongoDB's time. If this host had a wrong clock, traces by its time could expire immediately. */
  now: () => Promise<Date>;
};

/**
 * Stores batches of traces, each in one document. The first batch creates the indexes, because without them no trace
 * would expire. Raw commands accept a time limit, unlike the driver's `insertOne`. With `w: 1`, a fail-over may lose
 * the latest traces, which are not customer data.
 */
export function createTraceWriter(
  { control, now }: TraceWriterDeps,
  keptDays: number,
): (traces: RequestTrace[]) => Promise<void> {
  const collection = requestTracesOf(control).collectionName;
  const replica = hostname();
  let isIndexed = false;
  return async (traces) => {
    if (!isIndexed)
      await runCommand(
        control,
        { createIndexes: collection, indexes: requestTraceIndexes, ...builtByMajority },
        timeLimit(),
      );
    isIndexed = true;
    const expiresAt = new Date((await now()).getTime() + keptDays * dayMs);
    // Attempts to store the same batch have the same id, so MongoDB stores the batch once.
    const batch: TraceBatch = { _id: traces[0]?._id ?? '', traces, replica, expiresAt };
    const insert = { insert: collection, documents: [batch], writeConcern: { w: 1 } };
    const { writeErrors = [] } = (await runCommand(control, insert, timeLimit())) as {
      writeErrors?: { code: number; errmsg: string }[];
    };
    // An earlier attempt, whose answer was lost, has stored a duplicate.
    for (const { code, errmsg } of writeErrors) {
      if (code !== duplicateKey) throw new Error(errmsg);
    }
  };
}
