import type { Db } from 'mongodb';
import { progressOf } from '../../../shared/control/progress.ts';
import { requireRegistry } from '../../../shared/control/registry.ts';
import { recordId, type RecordPlace, type SetAside, setAsideOf } from '../../../shared/control/set-aside.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { digits } from '../../../shared/runtime/counted.ts';

/** The generations that have yet to apply a record, and the mark of an operator who has set it aside before. */
type Checked = { generations: number[]; earlier: SetAside | null };

/**
 * Checks a record before it is set aside. Throws if every generation has applied it, or if the log has no such record:
 * a misspelt place would leave the partition as it is.
 */
export async function checkSetAside(control: Db, place: RecordPlace): Promise<Checked> {
  const { topic, partition, offset } = place;
  const [{ generations }, earlier, progress] = await Promise.all([
    requireRegistry(control),
    setAsideOf(control).findOne({ _id: recordId(place) }),
    progressOf(control).find({ topic, partition }).toArray(),
  ]);
  const living = generations.filter(({ state }) => state !== 'dropping' && state !== 'dropped');
  const reading = progress.filter(({ generation }) => living.some(({ number }) => number === generation));
  if (reading.length === 0) throw new Error(`no projector has read ${partitionKey(place)}: see "status"`);
  const end = Math.max(...reading.map((one) => one.end));
  if (offset >= end)
    throw new Error(`${recordId(place)} is not in the log, which ends before offset ${digits(end)}`);
  const unapplied = reading.filter(({ applied }) => applied.position <= offset);
  if (unapplied.length === 0 && !earlier) {
    const positions = reading.map(
      (one) => `generation ${one.generation} is at offset ${digits(one.applied.position)}`,
    );
    throw new Error(`${recordId(place)} is applied already, or is a dead letter: ${positions.join(', ')}`);
  }
  return { generations: unapplied.map(({ generation }) => generation), earlier };
}

/** Sets a record aside for the generations that have yet to apply it. The mark keeps the name of the first operator. */
export async function setAside(
  control: Db,
  place: RecordPlace,
  generations: number[],
  cause: Pick<SetAside, 'at' | 'by' | 'why'>,
): Promise<void> {
  await setAsideOf(control).updateOne(
    { _id: recordId(place) },
    { $setOnInsert: { ...place, ...cause }, $addToSet: { generations: { $each: generations } } },
    { upsert: true },
  );
}
