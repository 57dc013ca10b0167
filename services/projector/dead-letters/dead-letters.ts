import type { Binary, Collection, Db } from 'mongodb';
import type { BusRecord, Rejection } from '../events/change.ts';

/**
 * A record that could not be applied, as kept for an operator. Key, headers and value are as the bus gave
 * them: redact them wherever they are shown.
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
  headers: LetterHeader[];
  /** Documents that hold headers and value where one cannot (see `parts.ts`); 0: they are in this one. */
  parts: number;
  /** Of key, headers and value together. */
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

export type LetterHeader = { name: string; value: Binary | null };

export type Rejected = { record: BusRecord; rejection: Rejection };

/** A piece of what one document cannot hold. */
export type LetterPart = { _id: string; bytes: Binary };

export const deadLettersOf = (control: Db): Collection<DeadLetter> => control.collection('dead_letters');
export const letterPartsOf = (control: Db): Collection<LetterPart> => control.collection('dead_letter_parts');
export const deadLetterTopic = (prefix: string) => `${prefix}dead-letters`;

/** Creates the indexes of the dead letters that are absent. */
export async function ensureLetterIndexes(control: Db): Promise<void> {
  await deadLettersOf(control).createIndexes([
    { name: 'lastAt', key: { lastAt: -1, _id: -1 } },
    { name: 'subjects', key: { subjects: 1 } },
    { name: 'topicLastAt', key: { topic: 1, lastAt: -1, _id: -1 } },
  ]);
}
