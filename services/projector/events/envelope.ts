import { z } from 'zod';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import { instant, optional, prefixedId } from '../../../shared/documents/fields.ts';
import { idOf } from './topics.ts';

/** What an event does to its entity. */
export type Verb = 'created' | 'updated' | 'deleted';

/** The verb of an event type that belongs to this kind's topic, version 1; null for any other. */
export function verbOf(kind: Kind, type: string): Verb | null {
  switch (type) {
    case `support.${kind}.created.v1`:
      return 'created';
    case `support.${kind}.updated.v1`:
      return 'updated';
    case `support.${kind}.deleted.v1`:
      return 'deleted';
  }
  return null;
}

/** The rule for the version of an entity, as zod checks it; gives a number. */
export const entityVersion = z.unknown().transform((value, context) => {
  const digits = typeof value === 'string' && /^[0-9]+$/.test(value);
  const version = digits ? Number(value) : value;
  if (Number.isSafeInteger(version) && Number(version) >= 1) return Number(version);
  const large = typeof version === 'number' && version > Number.MAX_SAFE_INTEGER;
  const message = large
    ? `must not exceed 2^53 - 1, beyond which versions cannot be told apart`
    : 'must be an integer of 1 or more, or a string of its digits';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

/** No blanks and no control characters: all that is asked of a URI reference that is never followed. */
const uriReference = z.string().regex(/^[^\s\p{Cc}]+$/u, 'must be a URI reference');

const attributesOf = (kind: Kind) =>
  z.object({
    specversion: z.literal('1.0'),
    id: z.string().min(1),
    source: uriReference,
    subject: idOf(kind),
    time: optional(instant),
    orgid: prefixedId('org_'),
    entityversion: entityVersion,
  });

/** The attributes that the projector reads; others are ignored. */
export type Attributes = z.output<ReturnType<typeof attributesOf>>;

/** The rules for the attributes of an event, by the kind of its topic. */
export const attributes = Object.fromEntries(kinds.map((kind) => [kind, attributesOf(kind)])) as {
  [K in Kind]: ReturnType<typeof attributesOf>;
};
