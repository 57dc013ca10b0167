import type { Db } from 'mongodb';
import { type LedgerRecord, openSpan, recordId } from '../../../shared/control/ledger.ts';
import {
  countUnapplied,
  ledgerOf,
  readLedgerRecords,
  readSpans,
  type UnappliedCount,
  unappliedRecords,
} from '../../../shared/control/ledger-store.ts';
import { type RecordBytes, recordBytesOf } from '../../../shared/control/record-bytes.ts';
import { type DeadLetter, type DeadLetterDetails, deadLetterDetails } from './details.ts';
import { matcherOf, needsBytes, spansOf } from './select.ts';
import type { DeadLetterFilter } from './selection.ts';

/**
 * The dead letters that match a filter. A dead letter is an entry of the ledger whose record is not applied. A span is
 * a document of the ledger with the entries of consecutive offsets of a partition.
 */
export type DeadLetterList = {
  deadLetters: DeadLetterDetails[];
  /** The number of all matching dead letters, listed or not. */
  total: number;
  /** The number of matching dead letters by topic and reason. */
  counts: UnappliedCount[];
};

/** Lists the latest dead letters that match a filter, the latest first. Counts all matching dead letters. */
export async function listDeadLetters(
  { control, config }: { control: Db; config: { TOPIC_PREFIX: string } },
  filter: DeadLetterFilter,
  limit: number,
): Promise<DeadLetterList> {
  const matches = await matcherOf(control, filter);
  const matching = { filter, matches };
  const [entries, counts] = await Promise.all([
    readLatest(control, matching, limit),
    countMatching(control, matching),
  ]);
  return {
    deadLetters: await joinBytes(control, entries, config.TOPIC_PREFIX),
    total: counts.reduce((sum, { count }) => sum + count, 0),
    counts: counts.toSorted((a, b) => compare(a.topic, b.topic) || compare(a.reason, b.reason)),
  };
}

const compare = (a: string, b: string): number => Number(a > b) - Number(a < b);

/** A filter, and the function that tests whether it matches a record. */
type Matching = { filter: DeadLetterFilter; matches: (record: LedgerRecord) => boolean };

/** Joins entries with their bytes. Does not read headers and values, which may be large. */
async function joinBytes(control: Db, entries: LedgerRecord[], prefix: string): Promise<DeadLetterDetails[]> {
  const found = await recordBytesOf(control)
    .find({ _id: { $in: entries.map(recordId) } })
    .project<Omit<RecordBytes, 'headers' | 'value'>>({ headers: 0, value: 0 })
    .toArray();
  const byId = new Map(found.map((bytes) => [bytes._id, bytes]));
  return entries.map((entry) => {
    const id = recordId(entry);
    return deadLetterDetails({ id, entry, bytes: byId.get(id) ?? null }, prefix);
  });
}

/**
 * Reads the spans from the latest rejection back. Stops once the list is full and the next span is older than the last
 * record of the list.
 */
async function readLatest(
  control: Db,
  { filter, matches }: Matching,
  limit: number,
): Promise<LedgerRecord[]> {
  let latest: LedgerRecord[] = [];
  const spans = spansOf({ filter, limit });
  await using found = ledgerOf(control).find(spans).sort({ lastAt: -1, _id: -1 }).batchSize(20);
  for await (const span of found) {
    const lastListed = latest[limit - 1];
    if (lastListed && lastListed.lastAt > span.lastAt) break;
    const candidates = [...latest, ...unappliedRecords(openSpan(span)).filter(matches)];
    latest = candidates.toSorted((a, b) => Number(b.lastAt) - Number(a.lastAt)).slice(0, limit);
  }
  return latest;
}

/** Uses the counts that the ledger keeps, unless the filter names a time or a field of the bytes. */
async function countMatching(control: Db, { filter, matches }: Matching): Promise<UnappliedCount[]> {
  const { topic, reason, since, until } = filter;
  if (!since && !until && !needsBytes(filter)) {
    const counts = await countUnapplied(control);
    const ofTopic = topic === undefined ? counts : counts.filter((count) => count.topic === topic);
    return reason === undefined ? ofTopic : ofTopic.filter((count) => count.reason === reason);
  }
  const counts = new Map<string, UnappliedCount>();
  for await (const span of readSpans(control, spansOf({ filter, limit: Infinity }))) {
    for (const record of unappliedRecords(span).filter(matches)) {
      const key = `${record.topic}/${record.reason}`;
      const count = (counts.get(key)?.count ?? 0) + 1;
      counts.set(key, { topic: record.topic, reason: record.reason, count });
    }
  }
  return [...counts.values()];
}

/**
 * Returns a dead letter with its bytes, which only `--raw` prints. Throws if the dead letter does not exist.
 */
export async function readDeadLetter(control: Db, id: string): Promise<DeadLetter> {
  const entry = (await readLedgerRecords(control, [id])).get(id);
  if (!entry)
    throw new Error(`there is no dead letter ${id}: it was never stored, or its record has been applied`);
  const { purged, reason } = entry;
  if (purged)
    throw new Error(`${purged.by} purged the dead letter ${id} (${reason}) at ${purged.at.toISOString()}`);
  return { id, entry, bytes: await recordBytesOf(control).findOne({ _id: id }) };
}
