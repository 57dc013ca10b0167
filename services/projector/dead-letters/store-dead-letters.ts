import type { AnyBulkWriteOperation, Db } from 'mongodb';
import type { Producer } from 'kafkajs';
import type { Rejection } from '../events/change.ts';
import { deadLettersOf, type DeadLetter, type Rejected } from './collection.ts';
import { deadLetterId, deadLetterOf } from './dead-letter.ts';
import { sendCopies } from './topic-copies.ts';

export type StoreDeadLettersDeps = {
  control: Db;
  producer: Producer;
  prefix: string;
  generation: number;
  now: () => Date;
};

/**
 * Keeps rejected records of one topic: first on the dead-letter topic, then in the control database, which
 * remembers that both are done. Kept before the offset is committed, so that none is ever lost; one that comes
 * again is kept once and counted. Throws while either is away; repeating it is right.
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
  const [again, fresh] = [true, false].map((isKnown) =>
    rejected.filter(({ record }) => known.has(deadLetterId(topic, record)) === isKnown),
  ) as [Rejected[], Rejected[]];
  const deadLetters = fresh.map((item) => deadLetterOf(deps, topic, item));
  await sendCopies(deps, deadLetters);
  const operations: AnyBulkWriteOperation<DeadLetter>[] = [
    ...deadLetters.map((document) => ({ insertOne: { document } })),
    ...again.map(({ record, rejection }) => storeAgain(deps, deadLetterId(topic, record), rejection)),
  ];
  const { matchedCount } = await collection.bulkWrite(operations, { ordered: false });
  // An operator may have re-driven or purged a letter since it was found; it is then kept as a new one.
  if (matchedCount < again.length) throw new Error('dead letters were removed meanwhile; keeping them anew');
}

/** What becomes of a letter whose record was refused once more. */
export const storeAgain = (
  { now, generation }: { now: () => Date; generation: number },
  id: string,
  rejection: Rejection,
) => ({
  updateOne: {
    filter: { _id: id },
    update: { $set: { ...rejection, lastAt: now(), generation }, $inc: { count: 1 } },
  },
});
