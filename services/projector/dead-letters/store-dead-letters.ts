import type { AnyBulkWriteOperation, Db } from 'mongodb';
import type { Rejection } from '../events/change.ts';
import { deadLettersOf, type DeadLetter, type Rejected } from './collection.ts';
import { deadLetterId, deadLetterOf } from './dead-letter.ts';

export type StoreDeadLettersDeps = {
  control: Db;
  prefix: string;
  generation: number;
  now: () => Date;
};

/**
 * Stores rejected records of one topic. A record that is delivered again is counted, not stored twice. Throws while the
 * store does not answer, and may then be repeated. Invariant 13 in docs/internals/consistency.md.
 */
export async function storeDeadLetters(
  deps: StoreDeadLettersDeps,
  topic: string,
  rejected: Rejected[],
): Promise<void> {
  if (rejected.length === 0) return;
  const collection = deadLettersOf(deps.control);
  const ids = rejected.map(({ record }) => deadLetterId(topic, record));
  const found = await collection.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray();
  const known = new Set(found.map(({ _id }) => _id));
  const isKnown = ({ record }: Rejected) => known.has(deadLetterId(topic, record));
  const repeated = rejected.filter(isKnown);
  const deadLetters = rejected
    .filter((item) => !isKnown(item))
    .map((item) => deadLetterOf(deps, topic, item));
  const operations: AnyBulkWriteOperation<DeadLetter>[] = [
    ...deadLetters.map((document) => ({ insertOne: { document } })),
    ...repeated.map(({ record, rejection }) => storeAgain(deps, deadLetterId(topic, record), rejection)),
  ];
  const { matchedCount } = await collection.bulkWrite(operations, { ordered: false });
  // An operator may have redriven or purged a dead letter since it was found. The next attempt stores it as a new one.
  if (matchedCount < repeated.length)
    throw new Error('dead letters were removed while they were counted; storing them again');
}

/** The update of a dead letter whose record was rejected again. */
export const storeAgain = (
  { now, generation }: { now: () => Date; generation: number },
  id: string,
  rejection: Rejection,
) => ({
  updateOne: {
    filter: { _id: id },
    update: {
      $set: { ...rejection, lastAt: now(), generation },
      $inc: { count: 1 },
      $addToSet: { generations: generation },
    },
  },
});
