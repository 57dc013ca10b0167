import type { Db } from 'mongodb';
import { type LedgerRecord, positionOf, recordId } from '../../../shared/control/ledger.ts';
import { type RecordBytes, recordBytesOf } from '../../../shared/control/record-bytes.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import { recordOf } from '../../projector/dead-letters/dead-letter.ts';
import type { ReadRecords } from './read-records.ts';
import type { ReadDeadLetter, RedriveResult } from './redrive.ts';

/** Dead letters with their records, and dead letters whose bytes neither MongoDB nor the log has. */
type Part = { readable: ReadDeadLetter[]; refused: RedriveResult[] };

type Deps = { control: Db; readRecords: ReadRecords | null };

/** A part has at most this many bytes, so that memory is bounded. A larger dead letter is a part of its own. */
const bytesPerPart = 4 * 1024 * 1024;

/** Consecutive dead letters whose bytes are all stored, or are all in the log of one partition. */
type Run = { isStored: boolean; entries: LedgerRecord[] };

/**
 * Reads the records of dead letters in parts, from the stored bytes or else from the log. The parts keep the order of
 * the entries: in log order, fewer records are superseded by a later one that was applied first.
 */
export async function* readParts(deps: Deps, entries: LedgerRecord[]): AsyncGenerator<Part> {
  const sizes = await readSizes(deps.control, entries);
  const sizeOf = (entry: LedgerRecord) => sizes.get(recordId(entry)) ?? 0;
  for (const { isStored, entries: run } of runsOf(entries, sizes)) {
    if (isStored) {
      for (const part of splitBySize(run, sizeOf, bytesPerPart)) yield await readStored(deps, part);
    } else yield* readLog(deps, run);
  }
}

async function readSizes(control: Db, entries: LedgerRecord[]): Promise<Map<string, number>> {
  const found = await recordBytesOf(control)
    .find({ _id: { $in: entries.map(recordId) } })
    .project<Pick<RecordBytes, '_id' | 'bytes'>>({ bytes: 1 })
    .toArray();
  return new Map(found.map(({ _id, bytes }) => [_id, bytes]));
}

/** Divides entries into runs, so that each run is read in one way. Keeps their order. */
function runsOf(entries: LedgerRecord[], sizes: Map<string, number>): Run[] {
  const runs: Run[] = [];
  for (const entry of entries) {
    const isStored = sizes.has(recordId(entry));
    const last = runs.at(-1);
    const [first] = last?.entries ?? [];
    const isSameLog = first !== undefined && partitionKey(first) === partitionKey(entry);
    if (last?.isStored === isStored && (isStored || isSameLog)) last.entries.push(entry);
    else runs.push({ isStored, entries: [entry] });
  }
  return runs;
}

/** Reads records from their stored bytes. Omits a record whose bytes a purge has removed since the sizes were read. */
async function readStored({ control }: Deps, entries: LedgerRecord[]): Promise<Part> {
  const found = await recordBytesOf(control)
    .find({ _id: { $in: entries.map(recordId) } })
    .toArray();
  const byId = new Map(found.map((bytes) => [bytes._id, bytes]));
  const readable = entries.flatMap((entry): ReadDeadLetter[] => {
    const id = recordId(entry);
    const bytes = byId.get(id);
    return bytes ? [{ id, entry, record: { ...recordOf(bytes), position: positionOf(entry) } }] : [];
  });
  return { readable, refused: [] };
}

/**
 * Reads the records of one partition from the log, and refuses those that it lacks. Compares the timestamps, because a
 * topic that was created again has other records at the same offsets.
 */
async function* readLog({ readRecords }: Deps, entries: LedgerRecord[]): AsyncGenerator<Part> {
  const [first] = entries;
  if (!first) return;
  if (!readRecords) throw new Error('the bytes of some dead letters were removed meanwhile');
  const byOffset = Map.groupBy(entries, ({ offset }) => offset);
  const missing = new Set(entries);
  for (let offsets = [...byOffset.keys()]; offsets.length > 0;) {
    const { records, remaining } = await readRecords(first, offsets);
    const readable = [...records].flatMap(([offset, record]): ReadDeadLetter[] => {
      const entry = byOffset.get(offset)?.find((one) => one.timestampMs === record.position.timestampMs);
      if (!entry || entry.reason === 'undecodable') return [];
      missing.delete(entry);
      return [{ id: recordId(entry), entry, record }];
    });
    yield { readable, refused: [] };
    offsets = remaining;
  }
  yield { readable: [], refused: [...missing].map(refuseLost) };
}

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
