import { z } from 'zod';
import { parseInstant } from './instant.ts';

/** The longest id that is accepted, in UTF-16 units: ids are index keys, and those are limited by the store. */
export const idLengthMax = 256;

/** Text as JSON carries it; a lone surrogate becomes U+FFFD, since no UTF-8 store could hand it back unchanged. */
export const text = z.string().transform((value) => value.toWellFormed());

/** An id that is free in form. */
export const anyId = z
  .string()
  .min(1)
  .max(idLengthMax)
  .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be well-formed text without NUL');

/** An id that starts with `prefix` and has something behind it. */
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

/** A field that may be null or absent; null is the one form inside. */
export const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value): z.output<T> | null => value ?? null);
