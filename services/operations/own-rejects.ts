import type { Db, Filter } from 'mongodb';
import { type DeadLetter, deadLettersOf } from '../../shared/control/dead-letters.ts';
import { isFollowed, progressOf, watermark } from '../../shared/control/progress.ts';
import { readTallies } from '../../shared/control/tallies.ts';
import { entryIdOf, openTally } from '../../shared/control/tally.ts';
import { partitionKey } from '../../shared/control/topic-partition.ts';

/** Dead letters are counted up to this number, so that a count is short. */
export const deadLettersMax = 10_000;

/** The dead letters of a generation that the active one does not have: the first, and their number. */
export type OwnRejects = { first: Pick<DeadLetter, '_id' | 'reason' | 'detail'> | null; count: number };

type Given = { active: number; number: number; completeTo: Date | null; now: Date };

const none: OwnRejects = { first: null, count: 0 };

/**
 * Reads the dead letters of a generation that the active one does not have. One counts only if both are complete up to
 * it: the active generation may still reject the same record, or a deletion may still erase it. If no projector follows
 * the active generation, only this one has to be complete.
 */
export async function readOwnRejects(control: Db, given: Given): Promise<OwnRejects> {
  const { active, number, completeTo, now } = given;
  if (number === active) return none;
  const activeIsFollowed = await isFollowed(control, active, now);
  const activeTo = activeIsFollowed ? await watermark(control, active) : completeTo;
  const comparableUntil = Math.min(completeTo?.getTime() ?? 0, activeTo?.getTime() ?? 0);
  const filter: Filter<DeadLetter> = {
    generations: { $eq: number, $ne: active },
    firstAt: { $lt: new Date(comparableUntil) },
  };
  const [first, count, counted] = await Promise.all([
    deadLettersOf(control).findOne<Pick<DeadLetter, '_id' | 'reason' | 'detail'>>(filter, {
      sort: { _id: 1 },
      projection: { reason: 1, detail: 1 },
    }),
    deadLettersOf(control).countDocuments(filter, { limit: deadLettersMax }),
    comparableUntil === 0 ? none : ownCounted(control, given, activeIsFollowed),
  ]);
  return { first: first ?? counted.first, count: count + counted.count };
}

/**
 * A counted dead letter is compared once the active generation has passed its offset, if a projector follows that one.
 */
async function ownCounted(
  control: Db,
  { active, number }: Given,
  activeIsFollowed: boolean,
): Promise<OwnRejects> {
  const tallies = await readTallies(control, { 'entries.lacking.generation': number });
  if (tallies.length === 0) return none;
  const progress = await progressOf(control).find({ generation: active }).toArray();
  const positions = new Map(progress.map((one) => [partitionKey(one), one.applied.position]));
  let first: OwnRejects['first'] = null;
  let count = 0;
  for (const tally of tallies.map(openTally)) {
    const passedTo = activeIsFollowed ? (positions.get(partitionKey(tally)) ?? 0) : Infinity;
    for (const entry of tally.entries) {
      const ofActive = entry.lacking.get(active);
      const own = [...(entry.lacking.get(number) ?? [])].filter(
        (offset) => offset < passedTo && !ofActive?.has(offset),
      );
      if (own.length === 0) continue;
      const { reason, detail } = entry;
      first ??= { _id: entryIdOf(tally, entry), reason, detail };
      count += own.length;
    }
  }
  return { first, count };
}
