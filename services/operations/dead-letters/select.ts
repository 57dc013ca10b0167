import { Binary, type Db, type Filter } from 'mongodb';
import {
  type LedgerRecord,
  type LedgerSpan,
  parseRecordId,
  type Purge,
  recordId,
  spanIdOf,
} from '../../../shared/control/ledger.ts';
import {
  purgeDeadLetters,
  readSpans,
  unappliedFilter,
  unappliedRecords,
} from '../../../shared/control/ledger-store.ts';
import { type RecordBytes, recordBytesOf } from '../../../shared/control/record-bytes.ts';
import type { DeadLetterFilter, Selection } from './selection.ts';

/** A chunk has at most this many records. */
const recordsPerChunk = 200;

/**
 * Yields the selected unapplied records in chunks, partition by partition in log order. Includes records that
 * projectors reject during the selection, if the selection has not passed their offsets.
 */
export async function* readSelected(control: Db, selection: Selection): AsyncGenerator<LedgerRecord[]> {
  const matches =
    'ids' in selection ? matcherOfIds(selection.ids) : await matcherOf(control, selection.filter);
  let remaining = 'ids' in selection ? Infinity : selection.limit;
  for await (const records of readChunks(control, spansOf(selection), matches)) {
    const taken = records.slice(0, remaining);
    if (taken.length > 0) yield taken;
    remaining -= taken.length;
    if (remaining <= 0) return;
  }
}

async function* readChunks(
  control: Db,
  filter: Filter<LedgerSpan>,
  matches: (record: LedgerRecord) => boolean,
): AsyncGenerator<LedgerRecord[]> {
  let chunk: LedgerRecord[] = [];
  for await (const span of readSpans(control, filter)) {
    for (const record of unappliedRecords(span).filter(matches)) {
      chunk.push(record);
      if (chunk.length < recordsPerChunk) continue;
      yield chunk;
      chunk = [];
    }
  }
  if (chunk.length > 0) yield chunk;
}

/** MongoDB's filter for the spans that may contain selected records. The caller then matches each of their records. */
export function spansOf(selection: Selection): Filter<LedgerSpan> {
  if ('ids' in selection) return { _id: { $in: selection.ids.map((id) => spanIdOf(parseRecordId(id))) } };
  const { topic, reason, since } = selection.filter;
  const filter: Record<string, unknown> = { lastAt: since ? { $gte: since } : unappliedFilter };
  if (topic !== undefined) filter.topic = topic;
  if (reason !== undefined) filter['groups.reason'] = reason;
  return filter;
}

function matcherOfIds(ids: string[]): (record: LedgerRecord) => boolean {
  const wanted = new Set(ids);
  return (record) => wanted.has(recordId(record));
}

/** Returns the function that matches the fields of a filter which the ledger has. */
const matcherOfLedgerFields =
  ({ reason, since, until }: DeadLetterFilter) =>
  (record: LedgerRecord): boolean =>
    (reason === undefined || record.reason === reason) &&
    (since === undefined || record.lastAt >= since) &&
    (until === undefined || record.lastAt < until);

/** Whether a filter names a field that only the stored bytes have. */
export const needsBytes = ({ key, org }: DeadLetterFilter): boolean => key !== undefined || org !== undefined;

/**
 * Returns the function that matches all fields of a filter. No index has the key or the organization, so this scans the
 * bytes once. Their size is bounded, and the scan costs less than look-ups by the ids of all records.
 */
export async function matcherOf(
  control: Db,
  filter: DeadLetterFilter,
): Promise<(record: LedgerRecord) => boolean> {
  const isInLedger = matcherOfLedgerFields(filter);
  if (!needsBytes(filter)) return isInLedger;
  const wanted: Filter<RecordBytes> = {};
  if (filter.key !== undefined) wanted.key = new Binary(Buffer.from(filter.key));
  if (filter.org !== undefined) wanted.orgId = filter.org;
  const found = await recordBytesOf(control)
    .find(wanted, { projection: { _id: 1 } })
    .toArray();
  const ids = new Set(found.map(({ _id }) => _id));
  return (record) => isInLedger(record) && ids.has(recordId(record));
}

export async function countSelected(control: Db, selection: Selection): Promise<number> {
  let count = 0;
  for await (const records of readSelected(control, selection)) count += records.length;
  return count;
}

/** Purges the selected dead letters. Returns their number. */
export async function purgeSelected(control: Db, selection: Selection, purge: Purge): Promise<number> {
  let purged = 0;
  for await (const records of readSelected(control, selection))
    purged += await purgeDeadLetters(control, records.map(recordId), purge);
  return purged;
}
