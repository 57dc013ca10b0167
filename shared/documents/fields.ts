import { z } from 'zod';
import { parseInstant } from './instant.ts';

/**
 * Declares the kind of the entity to which an id refers. The generators of sample data and test data then use the id of
 * an entity of that kind. The joins do not read it: their references are in `services/projector/projections`.
 */
export const refersTo = <T extends z.ZodType>(kind: string, id: T): T => id.meta({ refersTo: kind });

/** The kind that `refersTo` has declared for an id; undefined for any other schema. */
export const referredKind = (schema: z.core.$ZodType): unknown => z.globalRegistry.get(schema)?.refersTo;

/** The longest id that is accepted, in UTF-16 units. Ids are index keys, whose length MongoDB limits. */
export const idLengthMax = 256;

/**
 * The longest texts that are accepted, in UTF-16 units; each unit takes at most three bytes in MongoDB. Together with
 * `itemsMax` they keep every document, joined fields included, below 16 MB (see
 * `tests/store/largest-documents.test.ts`).
 */
export const nameLengthMax = 1_024;
export const shortTextLengthMax = 4_096;
export const longTextLengthMax = 65_536;

/** The maximum number of elements of a list. */
export const itemsMax = 1_000;

type Parse = z.ZodType['_zod']['parse'];
type Payload = Parameters<Parse>[0];

const Field = z.core.$constructor<z.ZodType, { type: 'custom'; parse: Parse }>(
  'Field',
  (field, definition) => {
    z.ZodType.init(field, definition);
    field._zod.parse = definition.parse;
  },
);

/**
 * A zod schema of one field that parses in one step, because zod's own checks and pipes create objects for each field
 * of each record. `read` returns the value. To refuse it, `read` returns the result of `reject`, which is null.
 */
export const fieldOf = <Output, Input>(read: (value: unknown, payload: Payload) => Output | null) => {
  const parse: Parse = (payload) => {
    const value = read(payload.value, payload);
    if (value !== null) payload.value = value;
    return payload;
  };
  return new Field({ type: 'custom', parse }) as z.ZodType<Output, Input>;
};

/** Reports the rule that a value of the right type breaks. `continue` makes a union report this rule as well. */
export function reject({ issues, value: input }: Payload, message: string): null {
  issues.push({ code: 'custom', message, input, continue: true });
  return null;
}

/** Reports that a value is no text. */
function rejectType({ issues, value: input }: Payload): null {
  issues.push({ code: 'invalid_type', expected: 'string', input });
  return null;
}

/** Like `fieldOf`, for a field whose input is text: `read` gets a string. */
const textField = <Output>(read: (value: string, payload: Payload) => Output | null) =>
  fieldOf<Output, string>((input, payload) =>
    typeof input === 'string' ? read(input, payload) : rejectType(payload),
  );

/** A text of limited length. JSON may contain lone surrogates: each becomes U+FFFD, since UTF-8 cannot represent it. */
const limitedText = (lengthMax: number) =>
  textField((value, payload) =>
    value.length <= lengthMax
      ? value.toWellFormed()
      : reject(payload, `must have ${lengthMax} characters or fewer`),
  );

/** A text without a limit of its own, because the size of the whole state is limited. */
export const text = limitedText(Infinity);

/** A name of a person, a label, a channel or a file, or another text of a few words. */
export const name = limitedText(nameLengthMax);

/** An email address, a domain, a URL or a description. */
export const shortText = limitedText(shortTextLengthMax);

/** A title, a question, a signature or an automatic reply. */
export const longText = limitedText(longTextLengthMax);

/** A list of at most `itemsMax` elements. Zod rejects a longer list before it checks any element. */
export const listOf = <T extends z.ZodType>(element: T) =>
  z.array(element).max(itemsMax, `must have ${itemsMax} items or fewer`);

/** An id that starts with `prefix` and continues after it. */
export const prefixedId = (prefix: string) =>
  textField((value, payload) => {
    if (value.length > idLengthMax) return reject(payload, `must have ${idLengthMax} characters or fewer`);
    if (!value.isWellFormed() || value.includes('\0'))
      return reject(payload, 'must be well-formed text without NUL');
    if (!value.startsWith(prefix) || value.length === prefix.length)
      return reject(payload, prefix ? `must be ${prefix} and a remainder` : 'must not be empty');
    return value;
  });

/** An id in any form. */
export const anyId = prefixedId('');

/** An RFC 3339 timestamp, kept to the millisecond as a Date. */
export const instant = textField(
  (value, payload) =>
    parseInstant(value) ?? reject(payload, 'must be an RFC 3339 timestamp with an offset or Z'),
);

/** The instant of examples. */
export const exampleInstant = '2026-01-01T00:00:00Z';

/** A field that may be null or absent; an absent field is read as null. */
export const optional = <T extends z.ZodType>(schema: T) => schema.nullable().default(null);
