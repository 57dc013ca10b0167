import { type Binary, type Collection, type Db, MongoServerError } from 'mongodb';
import { builtByMajority } from '../store/indexes.ts';
import type { Rejection } from './rejections.ts';
import type { TopicPartition } from './topic-partition.ts';

/**
 * A record that could not be applied, stored for an operator. Key, headers and value are as Kafka delivered them, or
 * their heads: they may hold secrets and personal data, so only `--raw` displays them.
 */
export type DeadLetter = {
  /** `<topic>/<partition>/<offset>@<timestamp>`. The timestamp tells the records of a topic created again apart. */
  _id: string;
  topic: string;
  partition: number;
  offset: number;
  key: Binary | null;
  value: Binary | null;
  /** In the order of the record, with its repeated names. */
  headers: DeadLetterHeader[];
  /** Set if only the head is stored, because the record or the collection is too large; else null. */
  truncated: Truncated | null;
  /** Size of the record's key, headers and value together. */
  bytes: number;
  /** The record's own timestamp, in milliseconds. */
  timestampMs: number;
  /** The organization that the record names; null if it cannot be read. */
  orgId: string | null;
  /** The entity and the version that the record names; null if they cannot be read. */
  versioned: { id: string; version: number } | null;
  /** Ids of the entities that the record is about. Their deletion erases the dead letter. */
  subjects: string[];
  reason: Rejection['reason'];
  /** Names fields and rules, never values. */
  detail: string;
  /** When the record was first dead-lettered, and when last. */
  firstAt: Date;
  lastAt: Date;
  /** How often the record was dead-lettered: a delivery or a redrive that fails again adds one. */
  count: number;
  /** The generation that dead-lettered the record last. */
  generation: number;
  /** The generations that lack the effect of the record. */
  generations: number[];
};

/** The fields that the record alone decides. */
export type RecordFields = Omit<
  DeadLetter,
  '_id' | keyof Rejection | 'firstAt' | 'lastAt' | 'count' | 'generation' | 'generations'
>;

export type DeadLetterHeader = { name: string; value: Binary | null };

/** Sizes in bytes of the whole record, and the hash of its whole value in hex. */
type Truncated = { keyBytes: number; headersBytes: number; valueBytes: number; sha256: string };

export const deadLettersOf = (control: Db): Collection<DeadLetter> => control.collection('dead_letters');

/** Creates the indexes of the dead letters that do not exist yet. */
export async function ensureDeadLetterIndexes(control: Db): Promise<void> {
  await deadLettersOf(control).createIndexes(
    [
      { name: 'lastAt', key: { lastAt: -1, _id: -1 } },
      { name: 'subjects', key: { subjects: 1 } },
      { name: 'topicLastAt', key: { topic: 1, lastAt: -1, _id: -1 } },
      // Holds all that the counts by topic and reason read, because a dead letter may have 8 MB.
      { name: 'counts', key: { topic: 1, reason: 1, _id: 1, bytes: 1 } },
      // Finds the ones that a build has and the active generation has not.
      { name: 'generations', key: { generations: 1, firstAt: 1 } },
      { name: 'alike', key: { topic: 1, partition: 1, reason: 1, detail: 1 } },
    ],
    builtByMajority,
  );
}

/** The size of the stored dead letters: the bytes of their documents, and their number. */
export type DeadLetterSize = { bytes: number; count: number };

/** Measures the stored dead letters by MongoDB's statistics of the collection, without reading one. */
export async function measureDeadLetters(control: Db): Promise<DeadLetterSize> {
  type Stats = { storageStats: { size: number; count: number } };
  // One document for each shard.
  const shards = await deadLettersOf(control)
    .aggregate<Stats>([{ $collStats: { storageStats: {} } }])
    .toArray()
    .catch(noneIfAbsent);
  return shards.reduce(
    (sum, { storageStats: { size, count } }) => ({ bytes: sum.bytes + size, count: sum.count + count }),
    { bytes: 0, count: 0 },
  );
}

const namespaceNotFound = 26;

/** Before a projector has first started, there is no collection. */
function noneIfAbsent(error: unknown): [] {
  if (error instanceof MongoServerError && error.code === namespaceNotFound) return [];
  throw error;
}

/** The mark of a purged dead letter. It holds no bytes and no ids of the record. */
type PurgeMark = Pick<DeadLetter, '_id' | 'topic' | 'partition' | 'offset' | 'timestampMs' | 'reason'> & {
  at: Date;
  /** The operator, or the rule that has erased it. */
  by: string;
};

export const purgeMarksOf = (control: Db): Collection<PurgeMark> => control.collection('purged_dead_letters');

/**
 * Purges dead letters by id, and returns how many existed. Their marks are stored first: a projector that rejects such
 * a record again then removes its own dead letter (see `removePurged`).
 */
export async function purgeDeadLetters(control: Db, ids: string[], purge: { at: Date; by: string }) {
  const purged = await deadLettersOf(control)
    .find({ _id: { $in: ids } })
    .project<Omit<PurgeMark, 'at' | 'by'>>({ topic: 1, partition: 1, offset: 1, timestampMs: 1, reason: 1 })
    .toArray();
  if (purged.length === 0) return 0;
  await purgeMarksOf(control).bulkWrite(
    purged.map(({ _id, ...mark }) => ({
      updateOne: { filter: { _id }, update: { $set: { ...mark, ...purge } }, upsert: true },
    })),
    { ordered: false },
  );
  return removeDeadLetters(control, ids);
}

export async function removeDeadLetters(control: Db, ids: string[]): Promise<number> {
  const { deletedCount } = await deadLettersOf(control).deleteMany({ _id: { $in: ids } });
  return deletedCount;
}

/** Removes the dead letters that were purged before, after they were stored again. Returns their ids. */
export async function removePurged(control: Db, ids: string[]): Promise<string[]> {
  const marks = await purgeMarksOf(control)
    .find({ _id: { $in: ids } }, { projection: { _id: 1 } })
    .toArray();
  const purged = marks.map(({ _id }) => _id);
  if (purged.length > 0) await removeDeadLetters(control, purged);
  return purged;
}

/** Removes the marks of records that Kafka has deleted: no worker can reject them again. */
export async function removeMarksBefore(
  control: Db,
  { topic, partition }: TopicPartition,
  low: number,
): Promise<void> {
  await purgeMarksOf(control).deleteMany({ topic, partition, offset: { $lt: low } });
}

/** Closes dead letters for one generation, and removes those that no generation lacks any more. */
export async function closeDeadLetters(control: Db, ids: string[], generation: number): Promise<void> {
  const some = { _id: { $in: ids } };
  await deadLettersOf(control).updateMany(some, { $pull: { generations: generation } });
  await deadLettersOf(control).deleteMany({ ...some, generations: { $size: 0 } });
}
