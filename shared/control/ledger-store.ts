import {
  type AnyBulkWriteOperation,
  type Collection,
  type Db,
  type Filter,
  MongoBulkWriteError,
} from 'mongodb';
import { bulkWrite } from '../store/bulk-write.ts';
import { builtByMajority } from '../store/indexes.ts';
import { newRevision } from '../store/revision.ts';
import { causeInSqlState } from '../store/stand-in-errors.ts';
import {
  carryOver,
  closeRecords,
  emptySpan,
  type InLog,
  isEmptySpan,
  type LedgerRecord,
  type LedgerSpan,
  markLost,
  type OpenSpan,
  openSpan,
  packSpan,
  parseRecordId,
  type Purge,
  purgeRecords,
  recordId,
  recordIn,
  type RecordPlace,
  removeGenerationFromSkips,
  type Skip,
  skipOffset,
  spanIdOf,
  unwritten,
} from './ledger.ts';
import { readStoredAt, recordBytesOf, removeBytes, removeUnchangedBytes } from './record-bytes.ts';
import type { Rejection } from './rejections.ts';
import { partitionKey, type TopicPartition } from './topic-partition.ts';

export const ledgerOf = (control: Db): Collection<LedgerSpan> => control.collection('dead_letters');

/** Creates the indexes of the ledger and of the bytes that do not exist yet. */
export async function ensureDeadLetterIndexes(control: Db): Promise<void> {
  await ledgerOf(control).createIndexes(
    [
      { name: 'lastAt', key: { lastAt: -1, _id: -1 } },
      { name: 'topic', key: { topic: 1, partition: 1 } },
      { name: 'generations', key: { 'groups.generations': 1 } },
    ],
    builtByMajority,
  );
  await recordBytesOf(control).createIndexes(
    [
      { name: 'subjects', key: { subjects: 1 } },
      { name: 'storedAt', key: { storedAt: 1 } },
      // Holds all that a measurement of a topic reads, because the bytes of a record may be 8 MB.
      { name: 'size', key: { topic: 1, size: 1 } },
    ],
    builtByMajority,
  );
}

/** Matches `lastAt` of the spans with an unapplied record. */
export const unappliedFilter = { $gt: new Date(0) };

/** At most this many spans are read or changed at a time, which bounds the memory. */
const spansPerRead = 20;

/** The spans that match a filter, in the order of the log. */
export async function* readSpans(control: Db, filter: Filter<LedgerSpan>): AsyncGenerator<OpenSpan> {
  await using found = ledgerOf(control).find(filter).sort({ _id: 1 }).batchSize(spansPerRead);
  for await (const span of found) yield openSpan(span);
}

/** The unapplied records of a span, in the order of the log. */
export const unappliedRecords = ({ records }: OpenSpan): LedgerRecord[] =>
  [...records.values()]
    .filter(({ purged }) => purged === null)
    .toSorted((a, b) => a.offset - b.offset || a.timestampMs - b.timestampMs);

/** The records with these ids, purged ones included, by their id. */
export async function readLedgerRecords(control: Db, ids: string[]): Promise<Map<string, LedgerRecord>> {
  const found = new Map<string, LedgerRecord>();
  const bySpan = Map.groupBy(ids, (id) => spanIdOf(parseRecordId(id)));
  for await (const span of readSpans(control, { _id: { $in: [...bySpan.keys()] } })) {
    for (const id of bySpan.get(span._id) ?? []) {
      const record = recordIn(span, parseRecordId(id));
      if (record) found.set(id, record);
    }
  }
  return found;
}

/** The number of unapplied records of a topic and a reason. */
export type UnappliedCount = Pick<LedgerRecord, 'topic' | 'reason'> & { count: number };

type SpanCounts = Pick<LedgerSpan, 'topic'> & { groups: Omit<LedgerSpan['groups'][number], 'records'>[] };

/**
 * Counts the records that a generation has not applied, or without a number those that any generation has not applied,
 * by topic and reason. Reads only the counts of the spans, and no record.
 */
export async function countUnapplied(control: Db, generation?: number): Promise<UnappliedCount[]> {
  const spans = await ledgerOf(control)
    .find({ lastAt: unappliedFilter })
    .project<SpanCounts>({ topic: 1, 'groups.reason': 1, 'groups.generations': 1, 'groups.count': 1 })
    .toArray();
  const counts = new Map<string, UnappliedCount>();
  for (const { topic, groups } of spans) {
    for (const { reason, generations, count } of groups) {
      const isCounted = generation === undefined ? generations.length > 0 : generations.includes(generation);
      const key = JSON.stringify([topic, reason]);
      const countSoFar = counts.get(key)?.count ?? 0;
      if (isCounted) counts.set(key, { topic, reason, count: countSoFar + count });
    }
  }
  return [...counts.values()];
}

/**
 * Changes each span by one compare-and-set. If another client has written a span first, `change` edits the stored span
 * again. Writes a span even if nothing has changed, because the projector commits offsets after this, so a majority
 * must confirm the present state. Removes empty spans.
 */
export async function changeSpans(
  control: Db,
  ids: Iterable<string>,
  change: (span: OpenSpan) => void,
): Promise<void> {
  const wanted = [...new Set(ids)].toSorted();
  for (let start = 0; start < wanted.length; start += spansPerRead)
    await changeSpanBatch(control, wanted.slice(start, start + spansPerRead), change);
}

async function changeSpanBatch(control: Db, ids: string[], change: (span: OpenSpan) => void): Promise<void> {
  const emptied: string[] = [];
  let remaining = ids;
  while (remaining.length > 0) {
    const stored = await ledgerOf(control)
      .find({ _id: { $in: remaining } })
      .toArray();
    const byId = new Map(stored.map((span) => [span._id, span]));
    const changed = remaining.map((id) => {
      const span = openSpan(byId.get(id) ?? emptySpan(id));
      change(span);
      return packSpan(span);
    });
    const toWrite = changed.filter((span) => byId.has(span._id) || !isEmptySpan(span));
    remaining = await writeSpans(control, toWrite);
    emptied.push(...toWrite.filter(isEmptySpan).map(({ _id }) => _id));
  }
  if (emptied.length > 0)
    await ledgerOf(control).deleteMany({ _id: { $in: emptied }, groups: { $size: 0 }, skips: { $size: 0 } });
}

/** Writes the spans that no other client has written since they were read. Returns the ids of the others. */
async function writeSpans(control: Db, spans: LedgerSpan[]): Promise<string[]> {
  const written = await Promise.all(spans.map((span) => writeSpan(control, span)));
  return spans.filter((_, index) => !written[index]).map(({ _id }) => _id);
}

/**
 * Writes a span by a command of its own, which reports whether the revision matched. An upsert would restore a span
 * that another client has removed, with its closed records.
 */
async function writeSpan(control: Db, span: LedgerSpan): Promise<boolean> {
  const { _id, revision, ...fields } = span;
  const next = { ...fields, revision: newRevision() };
  const operation: AnyBulkWriteOperation<LedgerSpan> =
    revision === unwritten
      ? { insertOne: { document: { _id, ...next } } }
      : { replaceOne: { filter: { _id, revision }, replacement: next } };
  try {
    const { insertedCount, matchedCount } = await bulkWrite(ledgerOf(control), [operation]);
    return insertedCount + matchedCount === 1;
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError()) throw error;
    const [failed] = [error.writeErrors].flat();
    if (!failed || !isLostRace(Number(failed.code))) throw error;
    return false;
  }
}

/** MongoDB's codes if another client has written the span first: its insert, or any write. */
const duplicateKey = 11_000;
const writeConflict = 112;

const isLostRace = (code: number): boolean =>
  code === duplicateKey || code === writeConflict || causeInSqlState(code) === 'conflict';

async function readSpanIds(control: Db, filter: Filter<LedgerSpan>): Promise<string[]> {
  const found = ledgerOf(control).find(filter, { projection: { _id: 1 } });
  return found.map(({ _id }) => _id).toArray();
}

/** Purges records by id, with their bytes. Returns the number of records that were unapplied. */
export async function purgeDeadLetters(control: Db, ids: string[], purge: Purge): Promise<number> {
  const wanted = new Set(ids);
  const counts = new Map<string, number>();
  const spans = ids.map((id) => spanIdOf(parseRecordId(id)));
  await changeSpans(control, spans, (span) => counts.set(span._id, purgeRecords(span, wanted, purge)));
  await removeBytes(control, ids);
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** Closes records for a generation. Removes a record that no generation lacks any longer, with its bytes. */
export async function closeDeadLetters(control: Db, ids: string[], generation: number): Promise<void> {
  const wanted = new Set(ids);
  const isClosed = (record: LedgerRecord) => wanted.has(recordId(record));
  const readAt = await readStoredAt(control, ids);
  const removed = new Map<string, string[]>();
  const spans = ids.map((id) => spanIdOf(parseRecordId(id)));
  await changeSpans(control, spans, (span) =>
    removed.set(span._id, closeRecords(span, generation, isClosed)),
  );
  await removeUnchangedBytes(control, [...removed.values()].flat(), readAt);
}

/** Closes all records for a generation that is being dropped, and removes its skips. */
export async function closeGeneration(control: Db, generation: number): Promise<void> {
  for (const id of await readSpanIds(control, { 'groups.generations': generation })) {
    for await (const span of readSpans(control, { _id: id }))
      await closeDeadLetters(control, unappliedRecords(span).map(recordId), generation);
  }
  await removeSkips(control, generation);
}

/** Removes the skips of a generation; with lost records, only those of their partition from the first lost one on. */
export async function removeSkips(
  control: Db,
  generation: number,
  lost?: TopicPartition & { from: number },
): Promise<void> {
  const filter: Filter<LedgerSpan> = lost ? { topic: lost.topic, partition: lost.partition } : {};
  filter['skips.generations'] = generation;
  const skipped = await readSpanIds(control, filter);
  await changeSpans(control, skipped, (span) => removeGenerationFromSkips(span, generation, lost?.from));
}

/** Opens the records that one generation lacks for another generation, unless that one can read them in the log. */
export async function carryOverDeadLetters(
  control: Db,
  numbers: { from: number; to: number },
  findInLog: (record: LedgerRecord) => InLog,
): Promise<void> {
  const ids = await readSpanIds(control, { 'groups.generations': numbers.from });
  await changeSpans(control, ids, (span) => carryOver(span, numbers, findInLog));
}

/** Marks records that a generation lacks as lost: each log has lost its records from an offset on. */
export async function storeLost(
  control: Db,
  generation: number,
  lost: (TopicPartition & { from: number })[],
): Promise<void> {
  const firstLost = new Map(lost.map((loss) => [partitionKey(loss), loss.from]));
  const ids = await readSpanIds(control, { 'groups.generations': generation });
  const idsOfLogs = ids.filter((id) => firstLost.has(id.slice(0, id.lastIndexOf('/'))));
  await changeSpans(control, idsOfLogs, (span) =>
    markLost(span, generation, firstLost.get(partitionKey(span)) ?? Infinity),
  );
}

/** The rejections of the records of one partition that a generation skips. The keys are offsets. */
export type SkippedOffsets = ReadonlyMap<number, Rejection>;

export async function readSkips(
  control: Db,
  generation: number,
  { topic, partition }: TopicPartition,
): Promise<SkippedOffsets> {
  const spans = await ledgerOf(control)
    .find({ topic, partition, 'skips.generations': generation })
    .project<Pick<LedgerSpan, 'skips'>>({ skips: 1 })
    .toArray();
  const skips = spans
    .flatMap((span) => span.skips)
    .filter(({ generations }) => generations.includes(generation));
  return new Map(
    skips.map(({ offset, by, why }) => [offset, { reason: 'skipped', detail: `skipped by ${by}: ${why}` }]),
  );
}

/** The skip of a record; null without one. */
export async function readSkip(control: Db, place: RecordPlace): Promise<Skip | null> {
  const span = await ledgerOf(control).findOne({ _id: spanIdOf(place) }, { projection: { skips: 1 } });
  return span?.skips.find(({ offset }) => offset === place.offset) ?? null;
}

/** Skips a record for the generations that have yet to apply it. */
export const storeSkip = (control: Db, place: RecordPlace, skip: Omit<Skip, 'offset'>): Promise<void> =>
  changeSpans(control, [spanIdOf(place)], (span) => skipOffset(span, { ...skip, offset: place.offset }));
