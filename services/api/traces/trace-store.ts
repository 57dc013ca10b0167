import type { Db } from 'mongodb';
import { builtByMajority } from '../../../shared/store/indexes.ts';
import {
  requestTraceIndex,
  requestTracesOf,
  type RequestTrace,
} from '../../../shared/store/request-traces.ts';

/** How long the store may take for a batch; then the connection is dropped. */
const writeTimeoutMs = 5_000;
const duplicateKey = 11_000;

/**
 * Writes batches of traces and returns how many of a batch were refused. The first batch creates the TTL index: the API
 * writes the traces, so the API also ensures that they expire. It sends raw commands because these take a signal, which
 * the driver's `insertMany` does not.
 */
export function createTraceWriter(control: Db): (batch: RequestTrace[]) => Promise<number> {
  const collection = requestTracesOf(control).collectionName;
  const run = (command: Record<string, unknown>) =>
    control.command(command, { signal: AbortSignal.timeout(writeTimeoutMs) });
  let isIndexed = false;
  return async (documents) => {
    if (!isIndexed)
      await run({ createIndexes: collection, indexes: [requestTraceIndex], ...builtByMajority });
    isIndexed = true;
    const insert = { insert: collection, documents, ordered: false, writeConcern: { w: 1 } };
    const { writeErrors = [] } = (await run(insert)) as { writeErrors?: { code: number }[] };
    // A duplicate was stored by an earlier attempt whose answer was lost.
    return writeErrors.filter(({ code }) => code !== duplicateKey).length;
  };
}
