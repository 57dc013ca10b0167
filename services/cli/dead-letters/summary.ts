import { deadLettersOf, type DeadLetter } from '../../projector/dead-letters/collection.ts';
import { buffer } from '../../projector/dead-letters/dead-letter.ts';
import { redactKey } from '../../operations/dead-letters/redact-headers.ts';
import { redactText } from '../../operations/dead-letters/redact.ts';
import { kindOfTopic } from '../../projector/events/topics.ts';
import type { StoredDeadLettersDeps } from './select.ts';

export type DeadLetterSummary = Omit<DeadLetter, 'headers' | 'value'>;

export const summarize = (deps: StoredDeadLettersDeps) =>
  deadLettersOf(deps.control).find().project<DeadLetterSummary>({ headers: 0, value: 0 });

export type DeadLetterDetails = ReturnType<typeof detailsOf>;

/**
 * A dead letter without headers and value, with personal data redacted. Instants are ISO 8601; `recordAt` is null if the
 * record's timestamp is not a valid one.
 */
export function detailsOf(deadLetter: DeadLetterSummary, prefix: string) {
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
