import type { AnyBulkWriteOperation, Db } from 'mongodb';
import type { Producer } from 'kafkajs';
import type { Rejection } from '../events/change.ts';
import { deadLettersOf, type DeadLetter, type Rejected } from './dead-letters.ts';
import { letterId, letterOf } from './letter.ts';
import { sendCopies } from './topic-copies.ts';

export type KeepDeps = {
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
export async function keepDeadLetters(deps: KeepDeps, topic: string, rejected: Rejected[]): Promise<void> {
  if (rejected.length === 0) return;
  const collection = deadLettersOf(deps.control);
  const ids = rejected.map(({ record }) => letterId(topic, record));
  const found = await collection.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray();
  const known = new Set(found.map(({ _id }) => _id));
  const [again, fresh] = [true, false].map((isKnown) =>
    rejected.filter(({ record }) => known.has(letterId(topic, record)) === isKnown),
  ) as [Rejected[], Rejected[]];
  const letters = fresh.map((item) => letterOf(deps, topic, item));
  await sendCopies(deps, letters);
  const operations: AnyBulkWriteOperation<DeadLetter>[] = [
    ...letters.map((document) => ({ insertOne: { document } })),
    ...again.map(({ record, rejection }) => setAsideAgain(deps, letterId(topic, record), rejection)),
  ];
  const { matchedCount } = await collection.bulkWrite(operations, { ordered: false });
  // An operator may have re-driven or purged a letter since it was found; it is then kept as a new one.
  if (matchedCount < again.length) throw new Error('dead letters were removed meanwhile; keeping them anew');
}

/** What becomes of a letter whose record was refused once more. */
export const setAsideAgain = (
  { now, generation }: { now: () => Date; generation: number },
  id: string,
  rejection: Rejection,
) => ({
  updateOne: {
    filter: { _id: id },
    update: { $set: { ...rejection, lastAt: now(), generation }, $inc: { count: 1 } },
  },
});
