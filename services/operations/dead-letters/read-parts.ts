import type { Db } from 'mongodb';
import { type LedgerRecord, positionOf, recordId } from '../../../shared/control/ledger.ts';
import { type RecordBytes, recordBytesOf } from '../../../shared/control/record-bytes.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import { recordOf } from '../../projector/dead-letters/dead-letter.ts';
import type { ReadDeadLetter, RedriveResult } from './preview-redrive.ts';
import type { ReadRecords } from './read-records.ts';

/** Dead letters with their records, and dead letters whose bytes neither MongoDB nor the log has. */
type ReadBatch = { readable: ReadDeadLetter[]; refused: RedriveResult[] };

type ReadDeps = { control: Db; readRecords: ReadRecords | null };

/** A batch has at most this many bytes, which bounds the memory. A larger dead letter is a batch of its own. */
const bytesPerBatch = 4 * 1024 * 1024;

/** Consecutive dead letters with one source. `log` is the partition that has their bytes; null if MongoDB has them. */
type SourceGroup = { log: string | null; entries: LedgerRecord[] };

/**
 * Reads the records of dead letters in batches, from the stored bytes or else from the log. Keeps the order of the
 * entries. If they are in log order, fewer records are superseded by a later record that was applied first.
 */
export async function* readDeadLetters(deps: ReadDeps, entries: LedgerRecord[]): AsyncGenerator<ReadBatch> {
  const sizes = await readSizes(deps.control, entries);
  const sizeOf = (entry: LedgerRecord) => sizes.get(recordId(entry)) ?? 0;
  for (const group of groupBySource(entries, sizes)) {
    if (group.log === null) {
      for (const batch of splitBySize(group.entries, sizeOf, bytesPerBatch)) {
        yield await readFromStore(deps, batch);
      }
    } else {
      yield* readFromLog(deps, group.entries);
    }
  }
}

async function readSizes(control: Db, entries: LedgerRecord[]): Promise<Map<string, number>> {
  const found = await recordBytesOf(control)
    .find({ _id: { $in: entries.map(recordId) } })
    .project<Pick<RecordBytes, '_id' | 'bytes'>>({ bytes: 1 })
    .toArray();
  return new Map(found.map(({ _id, bytes }) => [_id, bytes]));
}

/** Divides entries into groups of one source. Keeps their order. */
function groupBySource(entries: LedgerRecord[], sizes: Map<string, number>): SourceGroup[] {
  const groups: SourceGroup[] = [];
  for (const entry of entries) {
    const isStored = sizes.has(recordId(entry));
    const log = isStored ? null : partitionKey(entry);
    const group = groups.at(-1);
    if (group?.log === log) group.entries.push(entry);
    else groups.push({ log, entries: [entry] });
  }
  return groups;
}

/** Reads records from their stored bytes. Omits a record whose bytes a purge has removed since the sizes were read. */
async function readFromStore({ control }: ReadDeps, entries: LedgerRecord[]): Promise<ReadBatch> {
  const found = await recordBytesOf(control)
    .find({ _id: { $in: entries.map(recordId) } })
    .toArray();
  const byId = new Map(found.map((bytes) => [bytes._id, bytes]));
  const readable: ReadDeadLetter[] = [];
  for (const entry of entries) {
    const id = recordId(entry);
    const bytes = byId.get(id);
    if (bytes) readable.push({ id, entry, record: { ...recordOf(bytes), position: positionOf(entry) } });
  }
  return { readable, refused: [] };
}

/**
 * Reads the records of one partition from the log, and refuses those that it lacks. Compares the timestamps, because a
 * topic that was created again has other records at the same offsets.
 */
async function* readFromLog({ readRecords }: ReadDeps, entries: LedgerRecord[]): AsyncGenerator<ReadBatch> {
  const [first] = entries;
  if (!first) return;
  if (!readRecords) {
    // When the command began, MongoDB had the bytes of each dead letter, so the command has not connected to Kafka.
    yield { readable: [], refused: entries.map(refuseUnread) };
    return;
  }
  const byOffset = Map.groupBy(entries, ({ offset }) => offset);
  const missing = new Set(entries);
  let offsets = [...byOffset.keys()];
  while (offsets.length > 0) {
    const { records, remaining } = await readRecords(first, offsets);
    const readable: ReadDeadLetter[] = [];
    for (const [offset, record] of records) {
      const { timestampMs } = record.position;
      const entry = byOffset.get(offset)?.find((candidate) => candidate.timestampMs === timestampMs);
      if (!entry || entry.reason === 'undecodable') continue;
      missing.delete(entry);
      readable.push({ id: recordId(entry), entry, record });
    }
    yield { readable, refused: [] };
    offsets = remaining;
  }
  yield { readable: [], refused: [...missing].map(refuseLost) };
}

const refuseUnread = (entry: LedgerRecord): RedriveResult => ({
  id: recordId(entry),
  outcome: 'refused',
  reason: entry.reason,
  detail: 'its bytes were stored or removed during the redrive: run the command again',
});

const refuseLost = (entry: LedgerRecord): RedriveResult => ({
  id: recordId(entry),
  outcome: 'refused',
  reason: entry.reason,
  detail:
    entry.reason === 'undecodable'
      ? 'its batch cannot be decoded: publish the entities of the batch again from their source, then purge this dead letter'
      : 'its bytes are not stored, and the log does not have the record any more: publish its entity again from its ' +
        'source, then purge this dead letter',
});
