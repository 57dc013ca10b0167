import { z } from 'zod';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import { ApiError } from './api-error.ts';

/**
 * `{id}` of a resource whose ids have a prefix: at most 256 characters including the prefix, as JSON Schema counts them.
 * The store counts UTF-16 units, so an id with many characters of two units can be too long for it; that is a 404.
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

/** `{id}` of a resource whose ids have no fixed form. Any text is valid; an unknown id is a 404. */
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
