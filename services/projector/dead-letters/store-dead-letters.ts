import type { Db } from 'mongodb';
import { recordId, recordIn, type Reject, rejectRecords, spanIdOf } from '../../../shared/control/ledger.ts';
import { changeSpans, readLedgerRecords } from '../../../shared/control/ledger-store.ts';
import {
  type RecordBytes,
  recordBytesOf,
  removeBytes,
  removeUnchangedBytes,
} from '../../../shared/control/record-bytes.ts';
import { type OnRecordStepFailed, projectorError } from '../../../shared/control/rejections.ts';
import { bulkWrite } from '../../../shared/store/bulk-write.ts';
import type { ByteShares } from './byte-shares.ts';
import { attachedBytesMax, recordFields, type RejectedRecord } from './dead-letter.ts';

export type StoreDeadLettersDeps = {
  control: Db;
  prefix: string;
  generation: number;
  now: () => Date;
  shares: Pick<ByteShares, 'left' | 'add'>;
  /** Called for each record for which the projector's code throws `error`. `detail` names the step. */
  onProjectorError?: (
    place: { topic: string; partition: number; offset: number },
    detail: string,
    error: unknown,
  ) => void;
};

/** The rejected records that are not purged, and those of them whose bytes are stored. */
export type StoredRejects = { notPurged: RejectedRecord[]; withBytes: RejectedRecord[] };

/**
 * Stores rejected records of one topic in the ledger, then their bytes as far as the share of the topic allows:
 * Invariant 13 in docs/internals/retention.md. A redelivered record is stored only once, and a purged record stays
 * purged. Throws while MongoDB does not answer; the caller may then repeat the call.
 */
export async function storeDeadLetters(
  deps: StoreDeadLettersDeps,
  topic: string,
  rejected: RejectedRecord[],
): Promise<StoredRejects> {
  if (rejected.length === 0) return { notPurged: [], withBytes: [] };
  const purged = await addToLedger(deps, topic, rejected);
  // A worker may have stored bytes of purged records, and crashed before its recheck.
  await removeBytes(deps.control, [...purged]);
  const idOf = ({ record }: RejectedRecord): string => recordId({ topic, ...record.position });
  const notPurged = rejected.filter((record) => !purged.has(idOf(record)));
  const attachments = await attachBytes(deps, topic, notPurged);
  const removed = await recheck(deps, attachments);
  const kept = attachments.filter(({ _id }) => !removed.has(_id));
  const storedIds = new Set(kept.map(({ _id }) => _id));
  const withBytes = notPurged.filter((record) => storedIds.has(idOf(record)));
  return { notPurged, withBytes };
}

/** Adds the records to their spans. Returns the ids of the records that were purged before. */
async function addToLedger(
  { control, generation, now }: StoreDeadLettersDeps,
  topic: string,
  rejected: RejectedRecord[],
): Promise<Set<string>> {
  const bySpan = Map.groupBy(rejected, ({ record }) => spanIdOf({ topic, ...record.position }));
  const rejectedAt = now();
  const purged = new Set<string>();
  await changeSpans(control, bySpan.keys(), (span) => {
    const spanRecords = bySpan.get(span._id) ?? [];
    const rejects = spanRecords.map(({ record, rejection }): Reject => ({
      ...record.position,
      ...rejection,
    }));
    rejectRecords(span, rejects, { generation, now: rejectedAt });
    for (const { record } of spanRecords) {
      if (recordIn(span, record.position)?.purged) purged.add(recordId({ topic, ...record.position }));
    }
  });
  return purged;
}

/** Stores the bytes of the records, by one command, as far as the share allows. Returns the stored ones. */
async function attachBytes(deps: StoreDeadLettersDeps, topic: string, rejected: RejectedRecord[]) {
  if (rejected.length === 0) return [];
  const availableBytes = await deps.shares.left(topic);
  let leftBytes = availableBytes;
  const storedAt = deps.now();
  const attachments: RecordBytes[] = [];
  for (const { record } of rejected) {
    if (leftBytes <= 0) break;
    const onFailed: OnRecordStepFailed = (step, error) =>
      deps.onProjectorError?.({ ...record.position, topic }, projectorError(step, error).detail, error);
    const fields = recordFields(topic, deps.prefix, record, onFailed);
    if (!fields || fields.size > Math.min(leftBytes, attachedBytesMax)) continue;
    leftBytes -= fields.size;
    attachments.push({ ...fields, _id: recordId(fields), storedAt });
  }
  if (attachments.length === 0) return [];
  const operations = attachments.map(({ _id, storedAt: at, ...fields }) => {
    const update = { $set: { storedAt: at }, $setOnInsert: fields };
    return { updateOne: { filter: { _id }, update, upsert: true } };
  });
  await bulkWrite(recordBytesOf(deps.control), operations);
  deps.shares.add(topic, availableBytes - leftBytes);
  return attachments;
}

/**
 * Removes the bytes of records that another client has purged or closed since this worker stored the bytes. Returns the
 * ids of those records.
 */
export async function recheck(
  { control }: Pick<StoreDeadLettersDeps, 'control'>,
  attachments: Pick<RecordBytes, '_id' | 'storedAt'>[],
): Promise<Set<string>> {
  if (attachments.length === 0) return new Set();
  const ids = attachments.map(({ _id }) => _id);
  const records = await readLedgerRecords(control, ids);
  const purged = ids.filter((id) => records.get(id)?.purged);
  await removeBytes(control, purged);
  const closed = ids.filter((id) => !records.has(id));
  const storedAtById = new Map(attachments.map(({ _id, storedAt }) => [_id, storedAt]));
  await removeUnchangedBytes(control, closed, storedAtById);
  return new Set([...purged, ...closed]);
}
