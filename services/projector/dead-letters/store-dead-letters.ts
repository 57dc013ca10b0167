import type { Db } from 'mongodb';
import { projectorError, type Rejection } from '../../../shared/control/rejections.ts';
import type { RecordPlace } from '../../../shared/control/set-aside.ts';
import { bulkWrite } from '../../../shared/store/bulk-write.ts';
import { deadLettersOf, removePurged } from '../../../shared/control/dead-letters.ts';
import { deadLetterId, recordFields, type Rejected } from './dead-letter.ts';

export type StoreDeadLettersDeps = {
  control: Db;
  prefix: string;
  generation: number;
  now: () => Date;
  /** Called for each record for which the projector's code throws `error`. `detail` names the step. */
  onProjectorError?: (place: RecordPlace, detail: string, error: unknown) => void;
};

/**
 * Stores rejected records of one topic: Invariant 13 in docs/internals/retention.md. A record that is delivered again
 * is counted, not stored twice, and stays purged after an operator has purged it. Throws while MongoDB does not answer, and
 * may then be repeated. Returns those that are stored.
 */
export async function storeDeadLetters(deps: StoreDeadLettersDeps, topic: string, rejected: Rejected[]) {
  if (rejected.length === 0) return [];
  const operations = rejected.map(({ record, rejection }) => {
    const fields = recordFields(topic, deps.prefix, record, (step, error) =>
      deps.onProjectorError?.({ ...record.position, topic }, projectorError(step, error).detail, error),
    );
    const filter = { _id: deadLetterId(topic, record.position) };
    const update = { ...countAgain(deps, rejection), $setOnInsert: { ...fields, firstAt: deps.now() } };
    return { updateOne: { filter, update, upsert: true } };
  });
  await bulkWrite(deadLettersOf(deps.control), operations);
  const ids = operations.map(({ updateOne }) => updateOne.filter._id);
  const purged = await removePurged(deps.control, ids);
  return rejected.filter((_, index) => !purged.includes(ids[index] ?? ''));
}

/** The update of a dead letter whose record was rejected again. */
export const countAgain = (
  { now, generation }: Pick<StoreDeadLettersDeps, 'now' | 'generation'>,
  rejection: Rejection,
) => ({
  $set: { ...rejection, lastAt: now(), generation },
  $inc: { count: 1 },
  $addToSet: { generations: generation },
});
