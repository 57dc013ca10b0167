import type { Db } from 'mongodb';
import type { Rejection } from '../events/change.ts';
import { deadLettersOf, type Rejected } from './collection.ts';
import { fingerprint, placeOf, recordFields } from './dead-letter.ts';

export type StoreDeadLettersDeps = { control: Db; prefix: string; generation: number; now: () => Date };

/**
 * Stores rejected records of one topic: Invariant 13 in docs/internals/consistency.md. A record that is delivered again
 * is counted, not stored twice. Throws while MongoDB does not answer, and may then be repeated.
 */
export async function storeDeadLetters(
  deps: StoreDeadLettersDeps,
  topic: string,
  rejected: Rejected[],
): Promise<void> {
  if (rejected.length === 0) return;
  const collection = deadLettersOf(deps.control);
  const items = rejected.map(({ record, rejection }) => {
    const fields = recordFields(topic, deps.prefix, record);
    const place = placeOf(fields);
    return { fields, rejection, place, uniqueId: `${place}/${fingerprint(fields)}` };
  });
  const uniqueIds = new Map<string, string>();
  const ids = items.flatMap(({ place, uniqueId }) => [place, uniqueId]);
  for await (const stored of collection.find({ _id: { $in: ids } }))
    uniqueIds.set(stored._id, `${placeOf(stored)}/${fingerprint(stored)}`);
  const operations = items.map(({ fields, rejection, place, uniqueId }) => {
    const isTaken = (uniqueIds.get(place) ?? uniqueId) !== uniqueId || uniqueIds.has(uniqueId);
    // With the timestamp, the write fails if another worker has stored another record under the id since the read.
    const filter = { _id: isTaken ? uniqueId : place, timestampMs: fields.timestampMs };
    const update = { ...countAgain(deps, rejection), $setOnInsert: { ...fields, firstAt: deps.now() } };
    return { updateOne: { filter, update, upsert: true } };
  });
  await collection.bulkWrite(operations, { ordered: false });
}

/** The update of a dead letter whose record was rejected again. */
export const countAgain = (
  { now, generation }: { now: () => Date; generation: number },
  rejection: Rejection,
) => ({
  $set: { ...rejection, lastAt: now(), generation },
  $inc: { count: 1 },
  $addToSet: { generations: generation },
});
