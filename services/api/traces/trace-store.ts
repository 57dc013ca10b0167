import type { Db } from 'mongodb';
import {
  requestTraceIndex,
  requestTracesOf,
  type RequestTrace,
} from '../../../shared/store/request-traces.ts';

/** How long the store may take for a batch, in milliseconds; then the connection is given up. */
const writeTimeoutMs = 5_000;
const duplicateKey = 11_000;

/**
 * Writes batches of traces; gives how many of a batch were refused. The first one brings the index by which
 * traces expire: the API writes them, so it is the API that sees to it that they leave. Commands are sent as
 * such because they take a signal, which the driver's `insertMany` does not.
 */
export function createTraceWriter(control: Db): (batch: RequestTrace[]) => Promise<number> {
  const collection = requestTracesOf(control).collectionName;
  const command = (words: Record<string, unknown>) =>
    control.command(words, { signal: AbortSignal.timeout(writeTimeoutMs) });
  let isIndexed = false;
  return async (documents) => {
    if (!isIndexed) await command({ createIndexes: collection, indexes: [requestTraceIndex] });
    isIndexed = true;
    const insert = { insert: collection, documents, ordered: false, writeConcern: { w: 1 } };
    const { writeErrors = [] } = (await command(insert)) as { writeErrors?: { code: number }[] };
    // One that is there already came with an attempt whose answer was lost.
    return writeErrors.filter(({ code }) => code !== duplicateKey).length;
  };
}
