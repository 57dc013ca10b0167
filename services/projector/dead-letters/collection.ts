import type { Binary, Collection, Db } from 'mongodb';
import type { KafkaRecord, Rejection } from '../events/change.ts';

/**
 * A record that could not be applied, as kept for an operator. Key, headers and value are as the bus gave
 * them, or their heads: redact them wherever they are shown.
 */
export type DeadLetter = {
  /** `<topic>/<partition>/<offset>` */
  _id: string;
  topic: string;
  partition: number;
  offset: number;
  key: Binary | null;
  value: Binary | null;
  /** In the order of the record; a name that it repeats stands here as often. */
  headers: DeadLetterHeader[];
  /** What the record had where only its head is kept, since it is too large for a document; else null. */
  truncated: Truncated | null;
  /** Of the record's key, headers and value together. */
  bytes: number;
  /** The record's own timestamp, in milliseconds. */
  timestampMs: number;
  /** The organization that the record names, where that can be read. */
  orgId: string | null;
  /** The version that the record gives to an entity, where both can be read. */
  versioned: { id: string; version: number } | null;
  /** Entities that it is about, so that it goes when they do. */
  subjects: string[];
  reason: Rejection['reason'];
  /** Names fields and rules, never values. */
  detail: string;
  /** When it was first set aside, and when last. */
  firstAt: Date;
  lastAt: Date;
  /** How often it was set aside: a delivery or a re-drive that fails again adds one. */
  count: number;
  /** The generation that it was last set aside by. */
  generation: number;
};

export type DeadLetterHeader = { name: string; value: Binary | null };

export type Rejected = { record: KafkaRecord; rejection: Rejection };

/** The lengths of what is kept in part or not at all, in bytes, and the whole value's hash in hex. */
export type Truncated = { keyBytes: number; headersBytes: number; valueBytes: number; sha256: string };

export const deadLettersOf = (control: Db): Collection<DeadLetter> => control.collection('dead_letters');
export const deadLetterTopic = (prefix: string) => `${prefix}dead-letters`;

/** Creates the indexes of the dead letters that are absent. */
export async function ensureDeadLetterIndexes(control: Db): Promise<void> {
  await deadLettersOf(control).createIndexes([
    { name: 'lastAt', key: { lastAt: -1, _id: -1 } },
    { name: 'subjects', key: { subjects: 1 } },
    { name: 'topicLastAt', key: { topic: 1, lastAt: -1, _id: -1 } },
  ]);
}

/** Removes letters by id; gives how many were there. */
export async function removeDeadLetters(control: Db, ids: string[]): Promise<number> {
  const { deletedCount } = await deadLettersOf(control).deleteMany({ _id: { $in: ids } });
  return deletedCount;
}
