import { isNativeError } from 'node:util/types';
import {
  MongoBulkWriteError,
  MongoInvalidArgumentError,
  MongoServerError,
  type AnyBulkWriteOperation,
  type Collection,
} from 'mongodb';
import type { StoredDocument, Write, Written } from './store.ts';

/**
 * One unordered bulk write. Each operation on a stored document is an upsert filtered by the revision it was built
 * on: where the revision has moved on, the upsert runs into the unique `_id`, which names the loser. A document that
 * the store refuses for what it is, is told apart from the others by halving the bulk.
 */
export async function writeGuarded(
  collection: Collection<StoredDocument>,
  writes: Write[],
): Promise<Written> {
  const written: Written = { conflicted: new Set(), refused: new Map() };
  // Two bulks over the same documents in one order wait for each other; in two orders they may deadlock.
  const ordered = writes.toSorted((a, b) => (a.document._id < b.document._id ? -1 : 1));
  await writeSome(collection, ordered, written);
  return written;
}

async function writeSome(
  collection: Collection<StoredDocument>,
  writes: Write[],
  written: Written,
): Promise<void> {
  if (writes.length === 0) return;
  try {
    await collection.bulkWrite(writes.map(operation), { ordered: false });
  } catch (error) {
    if (error instanceof MongoBulkWriteError && !error.result.getWriteConcernError()) {
      const failed = [error.writeErrors].flat();
      if (failed.length === 0 || failed.some(({ code }) => causeOf(Number(code)) === null)) throw error;
      for (const { index, code, errmsg = '' } of failed) {
        const id = writes[index]?.document._id ?? '';
        if (causeOf(Number(code)) === 'conflict') written.conflicted.add(id);
        else written.refused.set(id, `code ${code}: ${errmsg.slice(0, 200)}`);
      }
      return;
    }
    const reason = refusal(error);
    if (reason === null) throw error;
    const [first, ...others] = writes;
    if (first && others.length === 0) {
      written.refused.set(first.document._id, reason);
      return;
    }
    // Whatever the first half had written before is met again as a conflict, and found right by a later round.
    const half = Math.ceil(writes.length / 2);
    await writeSome(collection, writes.slice(0, half), written);
    await writeSome(collection, writes.slice(half), written);
  }
}

/**
 * A write that lost: an id that is taken (E11000), a conflict with another write (WriteConflict), or, where
 * PostgreSQL is behind the store, a transaction that was rolled back for another (SQLSTATE class 40). Whether it
 * applied is seen when its document is read again.
 */
const conflictCodes = [11_000, 112];

/** BadValue, FailedToParse, TypeMismatch, BSONObjectTooLarge, KeyTooLong, a document that an update makes too large. */
const refusalCodes = [2, 9, 14, 10_334, 17_280, 17_419, 17_420];

const causeOf = (code: number): 'conflict' | 'refusal' | null => {
  if (conflictCodes.includes(code) || sqlClass(code) === '40') return 'conflict';
  // Data exceptions, and what exceeds a limit of PostgreSQL.
  if (refusalCodes.includes(code) || ['22', '54'].includes(sqlClass(code))) return 'refusal';
  return null;
};

/** The class of a PostgreSQL error: the first two of five characters that are packed into a code, six bits each. */
const sqlClass = (code: number): string =>
  code < 1 << 12 ? '' : String.fromCharCode(48 + (code & 63), 48 + ((code >> 6) & 63));

/** Why the store, or its driver before anything is sent, refuses a document for what it is; null for another cause. */
function refusal(error: unknown): string | null {
  // By its name: Node's own code throws it, whose classes are others in a context of a test.
  const isTooLong = isNativeError(error) && error.name === 'RangeError';
  if (isTooLong || error instanceof MongoInvalidArgumentError) return error.message;
  if (error instanceof MongoServerError && causeOf(Number(error.code)) === 'refusal')
    return `code ${error.code}: ${error.message.slice(0, 200)}`;
  return null;
}

function operation({ op, document, guard }: Write): AnyBulkWriteOperation<StoredDocument> {
  if (guard === null) return { insertOne: { document: document as StoredDocument } };
  const filter = { _id: document._id, orgId: guard.orgId, revision: guard.revision };
  if (op === 'put') {
    const { _id, ...replacement } = document;
    return { replaceOne: { filter, replacement, upsert: true } };
  }
  const { _id, orgId: _orgId, tombstonePosition, pending, orphanedAt, ...always } = document;
  const present = {
    ...(tombstonePosition && { tombstonePosition }),
    ...(pending && { pending }),
    ...(orphanedAt && { orphanedAt }),
  };
  const absent = {
    notRefreshedAt: '' as const,
    ...(pending ? {} : { pending: '' as const }),
    ...(orphanedAt ? {} : { orphanedAt: '' as const }),
  };
  const update = { $set: { ...always, ...present }, $unset: absent };
  return { updateOne: { filter, update, upsert: true } };
}
