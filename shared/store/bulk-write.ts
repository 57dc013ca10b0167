import type { AnyBulkWriteOperation, BulkWriteResult, Collection, Document } from 'mongodb';
import { withCommandLimit } from './within-limit.ts';

/** An unordered bulk write, which fails after a time limit. */
export const bulkWrite = <T extends Document>(
  collection: Collection<T>,
  operations: AnyBulkWriteOperation<T>[],
  limitMs?: number,
): Promise<BulkWriteResult> =>
  // The driver passes the signal on, although its types name it only for reads.
  withCommandLimit((limit) => collection.bulkWrite(operations, { ordered: false, ...limit }), limitMs);
