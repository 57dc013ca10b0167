import { deadLettersOf, type DeadLetter } from '../../projector/dead-letters/dead-letters.ts';
import { buffer } from '../../projector/dead-letters/letter.ts';
import { redactKey } from '../../projector/events/redact-headers.ts';
import { redactText } from '../../projector/events/redact.ts';
import { kindOfTopic } from '../../projector/events/topics.ts';
import type { LettersDeps } from './select.ts';

/** A letter without headers and value; what can name a person is redacted. Instants are ISO 8601. */
export type ShownLetter = {
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
  /** The record's own timestamp; null where it is none that a clock shows. */
  recordAt: string | null;
  bytes: number;
  /** What the record had where only its head is kept; such a letter cannot be re-driven. */
  truncated: DeadLetter['truncated'];
};

export type BareLetter = Omit<DeadLetter, 'headers' | 'value'>;

export const bareLetters = (deps: LettersDeps) =>
  deadLettersOf(deps.control).find().project<BareLetter>({ headers: 0, value: 0 });

export function shownLetter(letter: BareLetter, prefix: string): ShownLetter {
  const { _id: id, topic, partition, offset, reason, detail, count, generation, bytes, truncated } = letter;
  const recordAt = new Date(letter.timestampMs);
  return {
    id,
    topic,
    partition,
    offset,
    key: redactKey(kindOfTopic(topic, prefix), buffer(letter.key)),
    orgId: letter.orgId === null ? null : redactText(letter.orgId, 'id'),
    reason,
    detail,
    firstAt: letter.firstAt.toISOString(),
    lastAt: letter.lastAt.toISOString(),
    count,
    generation,
    recordAt: Number.isNaN(recordAt.getTime()) ? null : recordAt.toISOString(),
    bytes,
    truncated,
  };
}
