import type { Binary, Collection, Db } from 'mongodb';
import { bulkWrite } from '../store/bulk-write.ts';
import type { RecordKey } from './ledger.ts';

/**
 * The bytes of a dead letter as Kafka delivered them. They may contain secrets and personal data, so only `--raw`
 * displays them. Only the ledger shows whether the record is unapplied; the bytes are its attachment, of limited size.
 */
export type RecordBytes = RecordKey & {
  /** `<topic>/<partition>/<offset>@<timestamp>` */
  _id: string;
  key: Binary | null;
  value: Binary | null;
  /** In the order of the record, with its repeated names. */
  headers: RecordHeaderBytes[];
  /** Set if the value is a batch of records that cannot be decoded: names its offsets. */
  undecodable: string | null;
  /** Size of the record's key, headers and value together. */
  bytes: number;
  /** The bytes that count towards the share of its topic. */
  size: number;
  /** The organization that the record names; null if it cannot be read. */
  orgId: string | null;
  /** The entity and the version that the record names; null if they cannot be read. */
  versioned: { id: string; version: number } | null;
  /** Ids of the entities that the record is about. Their deletion erases the dead letter. */
  subjects: string[];
  /** When a worker last stored them. */
  storedAt: Date;
};

export type RecordHeaderBytes = { name: string; value: Binary | null };

export const recordBytesOf = (control: Db): Collection<RecordBytes> =>
  control.collection('dead_letter_bytes');

/** The `$match` of every topic and the `$sort` make MongoDB read only the index `size`, and no document. */
export const sizesPipeline = [
  { $match: { topic: { $gte: '' } } },
  { $sort: { topic: 1, size: 1 } },
  { $group: { _id: '$topic', size: { $sum: '$size' } } },
];

/** The size of the stored bytes of each topic. */
export async function measureBytes(
  control: Db,
  limit: { maxTimeMS?: number } = {},
): Promise<Map<string, number>> {
  type Sum = { _id: string; size: number };
  const sums = await recordBytesOf(control).aggregate<Sum>(sizesPipeline, limit).toArray();
  return new Map(sums.map(({ _id, size }) => [_id, size]));
}

/** Removes bytes, even if a worker has stored them again in the meantime. */
export async function removeBytes(control: Db, ids: string[]): Promise<void> {
  if (ids.length > 0) await recordBytesOf(control).deleteMany({ _id: { $in: ids } });
}

/** The times at which bytes were last stored; the keys are the ids of the dead letters. */
export type StoredAt = Map<string, Date>;

export async function readStoredAt(control: Db, ids: string[]): Promise<StoredAt> {
  const found = await recordBytesOf(control)
    .find({ _id: { $in: ids } })
    .project<Pick<RecordBytes, '_id' | 'storedAt'>>({ storedAt: 1 })
    .toArray();
  return new Map(found.map(({ _id, storedAt }) => [_id, storedAt]));
}

/** Removes bytes, unless a worker has rejected the record again since the read and so has stored them again. */
export async function removeUnchangedBytes(control: Db, ids: string[], readAt: StoredAt): Promise<void> {
  const operations = ids.flatMap((_id) => {
    const storedAt = readAt.get(_id);
    return storedAt ? [{ deleteOne: { filter: { _id, storedAt } } }] : [];
  });
  if (operations.length > 0) await bulkWrite(recordBytesOf(control), operations);
}
