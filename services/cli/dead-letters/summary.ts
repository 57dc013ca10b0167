import { deadLettersOf, type DeadLetter } from '../../projector/dead-letters/collection.ts';
import { buffer } from '../../projector/dead-letters/dead-letter.ts';
import { redactKey } from '../../projector/dead-letters/redact-headers.ts';
import { redactText } from '../../projector/dead-letters/redact.ts';
import { kindOfTopic } from '../../projector/events/topics.ts';
import type { StoredDeadLettersDeps } from './select.ts';

/** A dead letter without headers and value, with personal data redacted. Instants are ISO 8601. */
export type DeadLetterDetails = {
  id: string;
  topic: string;
  partition: number;
  offset: number;
  key: string;
  orgId: string | null;
  reason: string;
  detail: string;
  firstAt: string;
  lastAt: string;
  count: number;
  generation: number;
  /** The generations that lack the effect of the record. */
  generations: number[];
  /** The record's timestamp; null if it is not a valid instant. */
  recordAt: string | null;
  bytes: number;
  /** Sizes of the whole record if only its head is stored. Such a dead letter cannot be re-driven. */
  truncated: DeadLetter['truncated'];
};

export type DeadLetterSummary = Omit<DeadLetter, 'headers' | 'value'>;

export const summarize = (deps: StoredDeadLettersDeps) =>
  deadLettersOf(deps.control).find().project<DeadLetterSummary>({ headers: 0, value: 0 });

export function detailsOf(deadLetter: DeadLetterSummary, prefix: string): DeadLetterDetails {
  const {
    _id: id,
    topic,
    partition,
    offset,
    reason,
    detail,
    count,
    generation,
    generations,
    bytes,
    truncated,
  } = deadLetter;
  const recordAt = new Date(deadLetter.timestampMs);
  return {
    id,
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
    bytes,
    truncated,
  };
}
