import { z } from 'zod';
import { fieldOf, instant, optional, prefixedId, reject } from '../../../shared/documents/fields.ts';
import { idSchema, type Kind, kinds } from '../../../shared/documents/resources.ts';

/** The part of an event type that names the effect on the entity. */
export type Verb = 'created' | 'updated' | 'deleted';

/** Parses an event type of this kind, such as `support.ticket.updated.v1`. Returns null for any other type. */
export function parseType(kind: Kind, type: string): { verb: Verb; schemaVersion: number } | null {
  const [, entity, verb, version] =
    /^support\.([A-Za-z]+)\.(created|updated|deleted)\.v([1-9]\d{0,5})$/.exec(type) ?? [];
  return entity === kind ? { verb: verb as Verb, schemaVersion: Number(version) } : null;
}

/** The zod schema of an entity's version; its output is a number. */
export const entityVersion = fieldOf<number, unknown>((value, payload) => {
  const digits = typeof value === 'string' && /^[0-9]+$/.test(value);
  const version = digits ? Number(value) : value;
  if (Number.isSafeInteger(version) && Number(version) >= 1) return Number(version);
  const isTooLarge = typeof version === 'number' && version > Number.MAX_SAFE_INTEGER;
  const message = isTooLarge
    ? `must not exceed 2^53 - 1, beyond which versions cannot be distinguished`
    : 'must be an integer of 1 or more, or a string of its digits';
  return reject(payload, message);
});

/** Only blanks and control characters are rejected, since the URI reference is never followed. */
const uriReference = z.string().regex(/^[^\s\p{Cc}]+$/u, 'must be a URI reference');

/** The attributes that the projector reads. All others are ignored. */
export type Attributes = {
  specversion: '1.0';
  /** The id of the event. */
  id: string;
  source: string;
  /** The id of the entity. */
  subject: string;
  /** When the source system made the event; null if the event does not have it. */
  time: Date | null;
  orgid: string;
  entityversion: number;
};

const attributesOf = (kind: Kind): z.ZodType<Attributes> =>
  z.object({
    specversion: z.literal('1.0'),
    id: z.string().min(1),
    source: uriReference,
    subject: idSchema(kind),
    time: optional(instant),
    orgid: prefixedId('org_'),
    entityversion: entityVersion,
  });

/** The zod schema of an event's attributes, by the kind of its topic. */
export const attributes = Object.fromEntries(kinds.map((kind) => [kind, attributesOf(kind)])) as {
  [K in Kind]: z.ZodType<Attributes>;
};
