import type { Db } from 'mongodb';
import { deadLettersOf, type DeadLetter } from '../../projector/dead-letters/collection.ts';
import { buffer } from '../../projector/dead-letters/dead-letter.ts';
import { kindOfTopic } from '../../projector/events/topics.ts';
import { redactHeaders, redactKey } from './redact-headers.ts';
import { redactRecord, redactText } from './redact.ts';
import { storeFilter, type DeadLetterFilter } from './select.ts';

export type DeadLetterDetails = ReturnType<typeof deadLetterDetails>;

/** The latest dead letters of a filter, and the counts of all that it matches. */
export type DeadLetterList = {
  deadLetters: DeadLetterDetails[];
  total: number;
  counts: { topic: string; reason: string; count: number }[];
};

export async function listDeadLetters(
  { control, prefix }: { control: Db; prefix: string },
  filter: DeadLetterFilter,
  limit: number,
): Promise<DeadLetterList> {
  const wanted = storeFilter(filter);
  const [latest, groups] = await Promise.all([
    deadLettersOf(control)
      .find(wanted)
      .project<Omit<DeadLetter, 'headers' | 'value'>>({ headers: 0, value: 0 })
      .sort({ lastAt: -1, _id: -1 })
      .limit(limit)
      .toArray(),
    deadLettersOf(control)
      .aggregate<{ _id: { topic: string; reason: string }; count: number }>([
        { $match: wanted },
        { $group: { _id: { topic: '$topic', reason: '$reason' }, count: { $sum: 1 } } },
      ])
      .toArray(),
  ]);
  const counts = groups
    .map(({ _id: { topic, reason }, count }) => ({ topic, reason, count }))
    .sort((a, b) => a.topic.localeCompare(b.topic) || a.reason.localeCompare(b.reason));
  return {
    deadLetters: latest.map((deadLetter) => deadLetterDetails(deadLetter, prefix)),
    total: counts.reduce((sum, { count }) => sum + count, 0),
    counts,
  };
}

/**
 * A dead letter without headers and value, with personal data redacted. Instants are ISO 8601; `recordAt` is null if the
 * record's timestamp is not a valid one.
 */
export function deadLetterDetails(deadLetter: Omit<DeadLetter, 'headers' | 'value'>, prefix: string) {
  const { topic, partition, offset, reason, detail, count, generation, generations } = deadLetter;
  const recordAt = new Date(deadLetter.timestampMs);
  return {
    id: deadLetter._id,
    topic,
    partition,
    offset,
    key: redactKey(kindOfTopic(topic, prefix), buffer(deadLetter.key)),
    orgId: deadLetter.orgId === null ? null : redactText(deadLetter.orgId, 'id'),
    reason,
    detail,
    firstAt: deadLetter.firstAt.toISOString(),
    lastAt: deadLetter.lastAt.toISOString(),
    count,
    generation,
    generations,
    recordAt: Number.isNaN(recordAt.getTime()) ? null : recordAt.toISOString(),
    bytes: deadLetter.bytes,
    truncated: deadLetter.truncated,
  };
}

/** Returns a dead letter with its bytes: redact it before it is displayed. Throws an error if there is none. */
export async function readDeadLetter(control: Db, id: string): Promise<DeadLetter> {
  const deadLetter = await deadLettersOf(control).findOne({ _id: id });
  if (deadLetter) return deadLetter;
  throw new Error(`there is no dead letter ${id}: it was never stored, or has been re-driven or purged`);
}

export type RedactedRecord = ReturnType<typeof redactedRecord>;

/** A dead letter with headers and value, with secrets and personal data redacted. */
export const redactedRecord = (deadLetter: DeadLetter, prefix: string) => ({
  ...deadLetterDetails(deadLetter, prefix),
  headers: redactHeaders(deadLetter.headers.map(({ name, value }) => ({ name, value: buffer(value) }))),
  value: redactRecord(buffer(deadLetter.value)),
});
