import { z } from 'zod';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import { ApiError } from './api-error.ts';

/**
 * `{id}` of a resource whose ids have a prefix: the prefix and a remainder, at most 256 characters in all, as JSON
 * Schema counts them. Stored ids are shorter where characters take two UTF-16 units; a longer id is not found.
 */
export const idParameter = (prefix: string, example: string) =>
  z.object({
    id: z
      .string()
      .min(1)
      .max(idLengthMax)
      .refine((id) => id.startsWith(prefix) && id.length > prefix.length)
      .refine((id) => id.isWellFormed() && !id.includes('\0'))
      .meta({
        pattern: `^${prefix}[^\\u0000]+$`,
        description: `The id; it starts with \`${prefix}\`.`,
        examples: [example],
      }),
  });

/** `{id}` of a resource whose ids are free in form: any text, as an unknown one is simply not found. */
export const anyIdParameter = (example: string) =>
  z.object({
    id: z.string().meta({ description: 'The id, as the list of channels gives it.', examples: [example] }),
  });

export function readPath<P extends z.ZodObject>(schema: P, given: Record<string, string>): z.output<P> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new ApiError('invalid_path_parameter');
}

/** For a path without parameters. */
export const noParams = z.object({});
