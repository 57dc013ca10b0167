import { isNativeError } from 'node:util/types';
import {
  MongoBulkWriteError,
  MongoInvalidArgumentError,
  MongoServerError,
  type AnyBulkWriteOperation,
  type Collection,
} from 'mongodb';
import { bulkWrite } from '../../../shared/store/bulk-write.ts';
import { causeInSqlState } from '../../../shared/store/stand-in-errors.ts';
import { causeOfBulk } from '../../../shared/store/transient-errors.ts';
import type { StoredDocument, Write, Written } from './store.ts';

/**
 * One unordered bulk write, guarded as Invariant 2 in docs/internals/consistency.md says: an upsert, filtered by the
 * revision it was built on, violates the unique `_id` if the revision has moved on. Halving the bulk isolates a
 * document that MongoDB refuses.
 */
export async function writeGuarded(collection: Collection<StoredDocument>, writes: Write[]) {
  const written: Written = { conflicted: new Set(), refused: new Map() };
  // Two bulks over the same documents in opposite orders conflict with each other: 1.4 times MongoDB's processor time and
  // 1.7 times the time, measured with 300 documents. The tests' stand-in may deadlock.
  const ordered = writes.toSorted((a, b) => (a.document._id < b.document._id ? -1 : 1));
  await writeBulk(collection, ordered, written);
  return written;
}

async function writeBulk(collection: Collection<StoredDocument>, writes: Write[], written: Written) {
  if (writes.length === 0) return;
  try {
    await bulkWrite(collection, writes.map(operation));
  } catch (thrown) {
    const error = causeOfBulk(thrown);
    const isBulk = error instanceof MongoBulkWriteError;
    // Without a majority no write counts as durable, whatever became of the others.
    if (isBulk && error.result.getWriteConcernError()) throw error;
    const failed = isBulk ? [error.writeErrors].flat() : [];
    if (failed.some(({ code }) => causeOf(Number(code)) === null)) throw error;
    for (const { index, code, errmsg = '' } of failed) {
      const id = writes[index]?.document._id ?? '';
      if (causeOf(Number(code)) === 'conflict') written.conflicted.add(id);
      else written.refused.set(id, `code ${code}: ${errmsg.slice(0, 200)}`);
    }
    if (failed.length > 0) return;
    const reason = refusalReason(error);
    if (reason === null) throw error;
    const [first, ...others] = writes;
    if (first && others.length === 0) {
      written.refused.set(first.document._id, reason);
      return;
    }
    // Documents of this bulk that were written conflict now, and a later round finds them right.
    const half = Math.ceil(writes.length / 2);
    await writeBulk(collection, writes.slice(0, half), written);
    await writeBulk(collection, writes.slice(half), written);
  }
}

/**
 * A write that lost: an id that is taken (E11000), or a conflict with another write (WriteConflict). The next read of the
 * document shows whether the write applied.
 */
const conflictCodes = [11_000, 112];

/** BadValue, FailedToParse, TypeMismatch, BSONObjectTooLarge, KeyTooLong, a document that an update makes too large. */
const refusalCodes = [2, 9, 14, 10_334, 17_280, 17_419, 17_420];

const causeOf = (code: number): 'conflict' | 'refusal' | null => {
  if (conflictCodes.includes(code)) return 'conflict';
  return refusalCodes.includes(code) ? 'refusal' : causeInSqlState(code);
};

/** Why the store, or the driver before it sends anything, refuses the document; null for any other error. */
function refusalReason(error: unknown): string | null {
  // Compared by name: under jest, Node's own code throws another RangeError class.
  const isTooLong = isNativeError(error) && error.name === 'RangeError';
  if (isTooLong || error instanceof MongoInvalidArgumentError) return error.message;
  if (error instanceof MongoServerError && causeOf(Number(error.code)) === 'refusal')
    return `code ${error.code}: ${error.message.slice(0, 200)}`;
  return null;
}

function operation({ op, document, guard }: Write): AnyBulkWriteOperation<StoredDocument> {
  if (guard === null) return { insertOne: { document: document as StoredDocument } };
  const filter = { _id: document._id, revision: guard };
  if (op === 'put') {
    const { _id, ...replacement } = document;
    return { replaceOne: { filter, replacement, upsert: true } };
  }
  const { _id, ...present } = document;
  const absent = {
    ...(present.pending ? {} : { pending: '' as const }),
    ...(present.orphanedAt ? {} : { orphanedAt: '' as const }),
  };
  const update = { $set: present, ...(!(present.pending && present.orphanedAt) && { $unset: absent }) };
  return { updateOne: { filter, update, upsert: true } };
}
