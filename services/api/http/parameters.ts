import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import { ApiError } from './api-error.ts';

/**
 * `{id}` of a resource whose ids have a prefix: at most 256 characters including the prefix, as JSON Schema counts
 * them. Stored ids have at most as many UTF-16 units, so a valid id with many characters of two units can be longer
 * than any of them; that is a 404.
 */
export const idParameter = (prefix: string, example: string) =>
  z.object({
    id: z
      .string()
      .min(prefix.length + 1)
      .max(idLengthMax)
      .refine((id) => id.startsWith(prefix))
      .refine((id) => id.isWellFormed() && !id.includes('\0'))
      .meta({
        pattern: `^${prefix}`,
        description: `The id, which starts with \`${prefix}\`.`,
        examples: [example],
      }),
  });

/** `{id}` of a resource whose ids have no fixed form. Any text is valid; an unknown id is a 404. */
export const anyIdParameter = (example: string) =>
  z.object({
    id: z.string().meta({ description: 'The id, as returned by the list of channels.', examples: [example] }),
  });

export function readPath<P extends z.ZodObject>(schema: P, given: Record<string, string>): z.output<P> {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new ApiError('invalid_path_parameter');
}

/** For an endpoint without parameters in its path or in its query. */
export const noParameters = z.object({});

/** Matches keys of any brand: a key of another service is just as secret. */
const keyShape = /[A-Za-z0-9]_(live|test)_[!-~]{8}/;

/**
 * Parses a query string with a schema whose fields are the parameters. An unknown name, an invalid value or a repeated
 * parameter throws `invalid_query_parameter`. `param` names the first parameter that contains an API key, or the first
 * unknown one, in the order sent; otherwise the first invalid one in the order declared. A name that is a key is not
 * repeated.
 */
export function readQuery<Q extends z.ZodObject>(schema: Q, search: string): z.output<Q> {
  const given = new URLSearchParams(search);
  const names = Object.keys(schema.shape);
  for (const [name, value] of given) {
    const shown = keyShape.test(name) ? '[redacted]' : name;
    if (shown !== name || keyShape.test(value))
      throw invalid(shown, `\`${shown}\` looks like an API key; ${keyAdvice}`);
  }
  const values = [...new Set(given.keys())].map((name) => {
    if (!names.includes(name)) throw invalid(name, unknownParameter(name, names));
    const all = given.getAll(name);
    return [name, all.length === 1 ? all[0] : all] as const;
  });
  const parsed = schema.safeParse(Object.fromEntries(values));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = String(issue?.path[0]);
  const isRepeated = given.getAll(name).length > 1 && issue?.path.length === 1;
  throw invalid(
    name,
    `\`${name}\` ${isRepeated ? 'is not valid, or may be given only once' : (issue?.message ?? '')}.`,
  );
}

const keyAdvice =
  'send keys in the header Authorization alone, and replace this one, because URLs are stored in logs.';

/** Names the nearest parameter. Without a near one, names them all. */
function unknownParameter(name: string, names: string[]): string {
  const unknown =
    name === ''
      ? 'The query has a parameter without a name.'
      : `\`${name}\` is not a parameter of this endpoint.`;
  if (names.length === 0) return `${unknown} It has none.`;
  // As PHP, Rails and axios write lists.
  const [, repeated = ''] = /^(.+)\[\d*\]$/.exec(name) ?? [];
  if (names.includes(repeated)) return `${unknown} For several values, repeat \`${repeated}\`.`;
  const nearest = closest(name, names);
  if (name !== '' && distance(name, nearest) <= nearest.length / 3)
    return `${unknown} Did you mean \`${nearest}\`?`;
  return `${unknown} It has ${names.map((each) => `\`${each}\``).join(', ')}.`;
}

const invalid = (param: string, message: string) =>
  new ApiError('invalid_query_parameter', { param, message });

/** A parameter with one of `values`. */
export const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` });

/** A parameter that may be given several times, each time one of `values`. */
export const severalOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.preprocess((given) => [given].flat(), z.array(oneOf(values)));
