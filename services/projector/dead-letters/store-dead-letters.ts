import type { Db } from 'mongodb';
import {
  deadLettersOf,
  purgeMarksOf,
  removeDeadLetters,
  removePurged,
} from '../../../shared/control/dead-letters.ts';
import { type OnStepFailed, projectorError, type Rejection } from '../../../shared/control/rejections.ts';
import type { RecordPlace } from '../../../shared/control/set-aside.ts';
import { changeTallies, readTallies } from '../../../shared/control/tallies.ts';
import {
  closeOffsets,
  countRejects,
  entryWith,
  isPurged,
  openTally,
  tallyIdOf,
} from '../../../shared/control/tally.ts';
import { bulkWrite } from '../../../shared/store/bulk-write.ts';
import { deadLetterId, recordFields, type RejectedRecord, shortHeads } from './dead-letter.ts';
import type { DeadLetterRoom } from './room.ts';

export type StoreDeadLettersDeps = {
  control: Db;
  prefix: string;
  generation: number;
  now: () => Date;
  room: Pick<DeadLetterRoom, 'left' | 'add'>;
  /** Called for each record for which the projector's code throws `error`. `detail` names the step. */
  onProjectorError?: (place: RecordPlace, detail: string, error: unknown) => void;
};

/** Open dead letters of one partition, reason and detail that are stored as documents. Further ones are counted. */
export const alikeMax = 500;

/** The rejected records that are stored as documents, and those that are counted. The others were purged. */
export type StoredRejects = { stored: RejectedRecord[]; counted: RejectedRecord[] };

/**
 * Stores rejected records of one topic: Invariant 13 in docs/internals/retention.md. A record that is delivered again
 * is not stored or counted twice, and stays purged after an operator has purged it. Above `alikeMax` alike ones, and
 * without room, a record is counted: Invariant 19. Throws while MongoDB does not answer, and may then be repeated.
 */
export async function storeDeadLetters(
  deps: StoreDeadLettersDeps,
  topic: string,
  rejected: RejectedRecord[],
): Promise<StoredRejects> {
  if (rejected.length === 0) return { stored: [], counted: [] };
  const room = await deps.room.left();
  const placed = await placeRejects(deps, topic, rejected, room === 'counted' ? 0 : alikeMax);
  if (placed.counted.length > 0) await countEach(deps, topic, placed.counted);
  if (placed.stored.length > 0) await storeEach(deps, topic, placed.stored, room === 'head');
  const removed = await lookAgain(deps, topic, placed);
  return { ...placed, stored: placed.stored.filter(({ record }) => !removed.has(idOf(topic, record))) };
}

const idOf = (topic: string, { position }: RejectedRecord['record']) => deadLetterId(topic, position);
const tallyOf = (topic: string, { position }: RejectedRecord['record']) =>
  tallyIdOf(topic, position.partition, position.offset);

/** Places each record: one that is stored or counted already stays so, and of alike ones the first `max` are stored. */
async function placeRejects(
  { control }: StoreDeadLettersDeps,
  topic: string,
  rejected: RejectedRecord[],
  max: number,
): Promise<StoredRejects> {
  const ids = rejected.map(({ record }) => idOf(topic, record));
  // In this order: a purge stores its mark before it removes the dead letter.
  const known = await knownIds(control, ids);
  const [marked, tallies] = await Promise.all([markedIds(control, ids), talliesAt(control, topic, rejected)]);
  const fresh: RejectedRecord[] = [];
  const placed: StoredRejects = { stored: [], counted: [] };
  for (const one of rejected) {
    const { offset, timestampMs } = one.record.position;
    const id = idOf(topic, one.record);
    const tally = tallies.get(tallyOf(topic, one.record));
    const isTallied = tally !== undefined && entryWith(tally, offset) !== undefined;
    if (known.has(id)) placed.stored.push(one);
    else if (isTallied) placed.counted.push(one);
    else if (!marked.has(id) && !(tally && isPurged(tally, offset, timestampMs))) fresh.push(one);
  }
  for (const alike of groupAlike(fresh)) {
    const left = Math.max(0, max - (await countAlike(control, topic, alike, max)));
    placed.stored.push(...alike.slice(0, left));
    placed.counted.push(...alike.slice(left));
  }
  return placed;
}

/** The records by partition, reason and detail. */
function groupAlike(rejected: RejectedRecord[]): RejectedRecord[][] {
  const groups = Map.groupBy(rejected, ({ record, rejection: { reason, detail } }) =>
    JSON.stringify([record.position.partition, reason, detail]),
  );
  return [...groups.values()];
}

async function countAlike(
  control: Db,
  topic: string,
  [first]: RejectedRecord[],
  max: number,
): Promise<number> {
  if (!first || max === 0) return 0;
  const { partition } = first.record.position;
  const { reason, detail } = first.rejection;
  return deadLettersOf(control).countDocuments({ topic, partition, reason, detail }, { limit: max });
}

async function knownIds(control: Db, ids: string[]): Promise<Set<string>> {
  const found = deadLettersOf(control).find({ _id: { $in: ids } }, { projection: { _id: 1 } });
  return new Set(await found.map(({ _id }) => _id).toArray());
}

async function markedIds(control: Db, ids: string[]): Promise<Set<string>> {
  const found = purgeMarksOf(control).find({ _id: { $in: ids } }, { projection: { _id: 1 } });
  return new Set(await found.map(({ _id }) => _id).toArray());
}

async function talliesAt(control: Db, topic: string, rejected: RejectedRecord[]) {
  const ids = new Set(rejected.map(({ record }) => tallyOf(topic, record)));
  const found = await readTallies(control, { _id: { $in: [...ids] } });
  return new Map(found.map((tally) => [tally._id, openTally(tally)]));
}

/** One command for all records, whatever their number. A record that is stored already counts once more. */
async function storeEach(
  deps: StoreDeadLettersDeps,
  topic: string,
  rejected: RejectedRecord[],
  isHead: boolean,
) {
  let bytes = 0;
  const limits = isHead ? shortHeads : undefined;
  const operations = rejected.map(({ record, rejection }) => {
    const onFailed: OnStepFailed = (step, error) =>
      deps.onProjectorError?.({ ...record.position, topic }, projectorError(step, error).detail, error);
    const fields = recordFields(topic, deps.prefix, record, { limits, onFailed });
    bytes += (fields.key?.length() ?? 0) + (fields.value?.length() ?? 0);
    const update = { ...countAgain(deps, rejection), $setOnInsert: { ...fields, firstAt: deps.now() } };
    return { updateOne: { filter: { _id: idOf(topic, record) }, update, upsert: true } };
  });
  await bulkWrite(deadLettersOf(deps.control), operations);
  deps.room.add({ bytes, count: operations.length });
}

async function countEach(
  { control, generation, now }: StoreDeadLettersDeps,
  topic: string,
  rejected: RejectedRecord[],
) {
  const byTally = Map.groupBy(rejected, ({ record }) => tallyOf(topic, record));
  const at = now();
  await changeTallies(control, byTally.keys(), (tally) => {
    const rejects = (byTally.get(tally._id) ?? []).map(({ record: { position }, rejection }) => ({
      ...position,
      ...rejection,
    }));
    countRejects(tally, rejects, { generation, now: at });
  });
}

/**
 * Looks for the writes of others meanwhile. If these records were purged, their documents go. If another worker stored
 * a document for a record that is counted here, the document stays and the count goes. Returns the ids of the documents
 * that were removed.
 */
async function lookAgain({ control }: StoreDeadLettersDeps, topic: string, placed: StoredRejects) {
  const { stored, counted } = placed;
  const removed = new Set<string>();
  if (stored.length > 0) {
    const ids = stored.map(({ record }) => idOf(topic, record));
    for (const id of await removePurged(control, ids)) removed.add(id);
  }
  const all = [...stored, ...counted];
  const ids = all.map(({ record }) => idOf(topic, record));
  const known = counted.length > 0 ? await knownIds(control, ids) : new Set(ids);
  const documents = all.filter(({ record }) => known.has(idOf(topic, record)));
  if (documents.length === 0) return removed;
  const tallies = await talliesAt(control, topic, documents);
  for (const { record } of documents) {
    const { offset, timestampMs } = record.position;
    const id = idOf(topic, record);
    const tally = tallies.get(tallyOf(topic, record));
    if (!tally) continue;
    if (isPurged(tally, offset, timestampMs)) {
      await removeDeadLetters(control, [id]);
      removed.add(id);
    }
    const entry = entryWith(tally, offset);
    if (entry) await uncount(control, id, tally._id, offset, entry.lacking);
  }
  return removed;
}

/** Moves the generations that lack the record from its tally to its document. */
async function uncount(
  control: Db,
  id: string,
  tallyId: string,
  offset: number,
  lacking: Map<number, Set<number>>,
): Promise<void> {
  const generations = [...lacking].flatMap(([number, offsets]) => (offsets.has(offset) ? [number] : []));
  await deadLettersOf(control).updateOne({ _id: id }, { $addToSet: { generations: { $each: generations } } });
  await changeTallies(control, [tallyId], (tally) => {
    for (const generation of generations) closeOffsets(tally, [offset], generation);
  });
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
