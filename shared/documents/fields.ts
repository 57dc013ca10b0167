import { z } from 'zod';
import { parseInstant } from './instant.ts';

/** The longest id that is accepted, in UTF-16 units. Ids are index keys, whose length MongoDB limits. */
export const idLengthMax = 256;

/**
 * The longest texts that are accepted, in UTF-16 units; each unit takes at most three bytes in MongoDB. Together with
 * `itemsMax` they keep every document, joined fields included, below 16 MB (see `tests/store/largest-documents.test.ts`).
 */
export const nameLengthMax = 1_024;
export const shortTextLengthMax = 4_096;
export const longTextLengthMax = 65_536;

/** The most elements that a list may have. */
export const itemsMax = 1_000;

/** Not zod's `max`, which counts code points: beyond the basic plane each takes two units and four bytes. */
const characters = (lengthMax: number) =>
  z.string().refine((value) => value.length <= lengthMax, `must have ${lengthMax} characters or fewer`);

/** JSON may contain lone surrogates. Each becomes U+FFFD, since UTF-8 cannot represent it. */
const toWellFormed = (value: string) => value.toWellFormed();

/** A text without a limit of its own: only the size of the whole state bounds it. */
export const text = z.string().transform(toWellFormed);

/** A name of a person, a label, a channel or a file, or another text of a few words. */
export const name = characters(nameLengthMax).transform(toWellFormed);

/** An email address, a domain, a URL or a description. */
export const shortText = characters(shortTextLengthMax).transform(toWellFormed);

/** A title, a question, a signature or an automatic reply. */
export const longText = characters(longTextLengthMax).transform(toWellFormed);

/** A list of at most `itemsMax` elements. Zod rejects a longer list before it checks any element. */
export const listOf = <T extends z.ZodType>(element: T) =>
  z.array(element).max(itemsMax, `must have ${itemsMax} items or fewer`);

/** An id in any form. */
export const anyId = characters(idLengthMax)
  .min(1)
  .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be well-formed text without NUL');

/** An id that starts with `prefix` and continues after it. */
export const prefixedId = (prefix: string) =>
  anyId.refine((value) => value.startsWith(prefix) && value.length > prefix.length, {
    message: `must be ${prefix} and a remainder`,
  });

/** An RFC 3339 timestamp, kept to the millisecond as a Date. */
export const instant = z.string().transform((value, context) => {
  const parsed = parseInstant(value);
  if (parsed) return parsed;
  context.addIssue({ code: 'custom', message: 'must be an RFC 3339 timestamp with an offset or Z' });
  return z.NEVER;
});

/** A field that may be null or absent; an absent field is read as null. */
export const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value): z.output<T> | null => value ?? null);
