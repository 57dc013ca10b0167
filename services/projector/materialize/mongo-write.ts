import {
  type AnyBulkWriteOperation,
  type BulkWriteResult,
  type Collection,
  type Filter,
  MongoBulkWriteError,
} from 'mongodb';
import { bulkWrite } from '../../../shared/store/bulk-write.ts';
import { causeOfBulk } from '../../../shared/store/errors.ts';
import type { StoredDocument, Write, WriteResult } from './store.ts';
import { failureOf, refusalIn } from './write-errors.ts';

/**
 * Makes one unordered bulk write. Each write is guarded: an upsert whose filter has the revision that was read violates
 * the unique `_id` if another write has changed the revision (Invariant 2 in docs/internals/consistency.md).
 */
export async function writeGuarded(collection: Collection<StoredDocument>, writes: Write[]) {
  const written: WriteResult = { conflicted: new Map(), refused: new Map() };
  // Sorted by id, because two bulks over the same documents in opposite orders conflict with each other. With 300
  // documents they took 1.7 times the time. The stand-in of the tests may deadlock.
  const ordered = writes.toSorted((a, b) => (a.document._id < b.document._id ? -1 : 1));
  await writeBulk(collection, ordered, written);
  return written;
}

async function writeBulk(collection: Collection<StoredDocument>, writes: Write[], written: WriteResult) {
  if (writes.length === 0) return;
  let result: Pick<BulkWriteResult, 'upsertedIds'>;
  try {
    result = await bulkWrite(collection, writes.map(toBulkOperation));
  } catch (error) {
    await addFailures(collection, writes, causeOfBulk(error), written);
    return;
  }
  await removeFragments(collection, writes, result, written);
}

/**
 * Adds the writes of a failed bulk that did not apply to `written`. If MongoDB or the driver refuses the bulk without
 * naming a document, halves it. Throws any error that is not about the documents.
 */
async function addFailures(
  collection: Collection<StoredDocument>,
  writes: Write[],
  error: unknown,
  written: WriteResult,
) {
  if (error instanceof MongoBulkWriteError) {
    addWriteErrors(collection, writes, error, written);
    await removeFragments(collection, writes, error.result, written);
    if ([error.writeErrors].flat().length > 0) return;
  }
  const firstId = writes[0]?.document._id ?? '';
  const refusal = refusalIn({ namespace: collection.namespace, id: firstId }, error);
  if (refusal === null) throw error;
  if (writes.length === 1) {
    written.refused.set(firstId, refusal);
    return;
  }
  // The documents that this bulk has written conflict now. A later round finds that they are up to date.
  const half = Math.ceil(writes.length / 2);
  await writeBulk(collection, writes.slice(0, half), written);
  await writeBulk(collection, writes.slice(half), written);
}

/** Adds the writes that MongoDB names as failed. Throws if one of its errors is not about a document. */
function addWriteErrors(
  { namespace }: Collection<StoredDocument>,
  writes: Write[],
  error: MongoBulkWriteError,
  { conflicted, refused }: WriteResult,
): void {
  // Without a majority no write of the bulk is durable, even one that MongoDB reports as applied.
  if (error.result.getWriteConcernError()) throw error;
  for (const { index, code, errmsg = '' } of [error.writeErrors].flat()) {
    const id = writes[index]?.document._id ?? '';
    const failure = failureOf({ namespace, id }, Number(code), errmsg);
    if (failure === null) throw error;
    if (failure.type === 'refused') refused.set(id, failure.detail);
    else conflicted.set(id, failure.type === 'taken' ? failure.detail : null);
  }
}

/**
 * Removes the fragments that joins have inserted, and reports their writes as conflicts. A join writes no state, so its
 * upsert inserts a document with only the joined fields if an operator has dropped the generation.
 */
async function removeFragments(
  collection: Collection<StoredDocument>,
  writes: Write[],
  { upsertedIds }: Pick<BulkWriteResult, 'upsertedIds'>,
  { conflicted }: WriteResult,
) {
  // Compares ids, because the driver numbers upserts without counting the inserts of the same bulk.
  const inserted = new Set<unknown>(Object.values(upsertedIds));
  const fragments = writes.filter(({ op, document }) => op === 'join' && inserted.has(document._id));
  if (fragments.length === 0) return;
  const removals = fragments.map(({ document: { _id, revision } }) => ({
    deleteOne: { filter: { _id, revision } },
  }));
  await bulkWrite(collection, removals);
  for (const { document } of fragments) conflicted.set(document._id, null);
}

function toBulkOperation({ op, document, guard }: Write): AnyBulkWriteOperation<StoredDocument> {
  if (guard === null) return { insertOne: { document: document as StoredDocument } };
  const revision = typeof guard === 'number' ? guard : { $eq: guard.unreadable ?? null };
  const filter = { _id: document._id, revision } as Filter<StoredDocument>;
  if (op === 'put') {
    const { _id, ...replacement } = document;
    return { replaceOne: { filter, replacement, upsert: true } };
  }
  const { _id, ...present } = document;
  const absent: { pending?: ''; orphanedAt?: '' } = {};
  if (!present.pending) absent.pending = '';
  if (!present.orphanedAt) absent.orphanedAt = '';
  const isAllPresent = Object.keys(absent).length === 0;
  const update = isAllPresent ? { $set: present } : { $set: present, $unset: absent };
  return { updateOne: { filter, update, upsert: true } };
}
