import { randomInt } from 'node:crypto';
import { type Collection, type Db, type Filter, MongoBulkWriteError } from 'mongodb';
import { bulkWrite } from '../store/bulk-write.ts';
import { causeInSqlState } from '../store/stand-in-errors.ts';
import {
  emptyTally,
  offsetsPerTally,
  type OpenTally,
  openTally,
  packTally,
  type Tally,
  unwritten,
} from './tally.ts';
import type { TopicPartition } from './topic-partition.ts';

export const talliesOf = (control: Db): Collection<Tally> => control.collection('dead_letter_tallies');

export const readTallies = (control: Db, filter: Filter<Tally>): Promise<Tally[]> =>
  talliesOf(control).find(filter).sort({ _id: 1 }).toArray();

/**
 * Changes tallies, each by one compare-and-set; `change` edits the tally that it is given, again if another client has
 * written it meanwhile. Each write counts once a majority has it, also one that changes no offset: the offset of a
 * record is committed after it. A tally that holds nothing is removed.
 */
export async function changeTallies(
  control: Db,
  ids: Iterable<string>,
  change: (tally: OpenTally) => void,
): Promise<void> {
  const wanted = [...ids].toSorted();
  const emptied: string[] = [];
  for (let left = wanted; left.length > 0;) {
    const stored = await readTallies(control, { _id: { $in: left } });
    const byId = new Map(stored.map((tally) => [tally._id, tally]));
    const changed = left.map((id) => {
      const tally = openTally(byId.get(id) ?? emptyTally(id));
      change(tally);
      return packTally(tally);
    });
    const isEmpty = ({ entries, purged }: Tally) => entries.length === 0 && purged === null;
    const toWrite = changed.filter((tally) => byId.has(tally._id) || !isEmpty(tally));
    left = await writeTallies(control, toWrite);
    emptied.push(...toWrite.filter(isEmpty).map(({ _id }) => _id));
  }
  if (emptied.length > 0)
    await talliesOf(control).deleteMany({ _id: { $in: emptied }, entries: { $size: 0 }, purged: null });
}

/** Writes the tallies that no other client has written since they were read. Returns the ids of the others. */
async function writeTallies(control: Db, tallies: Tally[]): Promise<string[]> {
  if (tallies.length === 0) return [];
  const operations = tallies.map(({ _id, revision, ...fields }) => ({
    // An upsert whose guard does not fit violates the unique `_id`.
    replaceOne: {
      filter: { _id, revision },
      replacement: { ...fields, revision: revision === unwritten ? randomInt(1, 2 ** 47) : revision + 1 },
      upsert: true,
    },
  }));
  try {
    await bulkWrite(talliesOf(control), operations);
    return [];
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError()) throw error;
    const failed = [error.writeErrors].flat();
    if (failed.length === 0 || !failed.every(({ code }) => isLostRace(Number(code)))) throw error;
    return failed.flatMap(({ index }) => tallies[index]?._id ?? []);
  }
}

/** E11000: the tally was written meanwhile. WriteConflict: another write came first. */
const isLostRace = (code: number): boolean =>
  code === 11_000 || code === 112 || causeInSqlState(code) === 'conflict';

const idsOf = async (control: Db, filter: Filter<Tally>): Promise<string[]> =>
  talliesOf(control)
    .find(filter, { projection: { _id: 1 } })
    .map(({ _id }) => _id)
    .toArray();

/** Closes all counted dead letters for a generation. */
export async function closeGeneration(control: Db, generation: number): Promise<void> {
  const ids = await idsOf(control, { 'entries.lacking.generation': generation });
  await changeTallies(control, ids, ({ entries }) => {
    for (const { lacking } of entries) lacking.delete(generation);
  });
}

/** Keeps the counted dead letters of one generation open for another one, too, if their records are lost. */
export async function carryOverTallies(
  control: Db,
  { from, to }: { from: number; to: number },
  isLost: (tally: OpenTally, offset: number) => boolean,
): Promise<void> {
  const ids = await idsOf(control, { 'entries.lacking.generation': from });
  await changeTallies(control, ids, (tally) => {
    for (const { lacking } of tally.entries) {
      const lost = [...(lacking.get(from) ?? [])].filter((offset) => isLost(tally, offset));
      if (lost.length > 0) lacking.set(to, new Set([...(lacking.get(to) ?? []), ...lost]));
    }
  });
}

/**
 * Forgets the purged offsets of tallies whose last offset Kafka has deleted: no worker can reject their records again.
 */
export async function forgetPurgedBefore(
  control: Db,
  { topic, partition }: TopicPartition,
  low: number,
): Promise<void> {
  const before = { topic, partition, from: { $lte: low - offsetsPerTally }, purged: { $ne: null } };
  await changeTallies(control, await idsOf(control, before), (tally) => {
    tally.purged = null;
  });
}

/** The count is short: of further tallies nothing is counted. */
const talliesMax = 10_000;

/** All counted records of the control database. */
export async function countAllCounted(control: Db): Promise<number> {
  const [sum] = await talliesOf(control)
    .aggregate<{ count: number }>([
      { $sort: { _id: 1 } },
      { $limit: talliesMax },
      { $unwind: '$entries' },
      { $group: { _id: null, count: { $sum: '$entries.count' } } },
    ])
    .toArray();
  return sum?.count ?? 0;
}
