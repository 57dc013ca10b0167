import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import { ApiError } from './api-error.ts';

/**
 * `{id}` of a resource whose ids have a prefix. JSON Schema counts code points, but the limit of stored ids counts
 * UTF-16 units. So an id can be valid here, and yet longer than every stored id: the API answers 404.
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

/** `{id}` of a resource whose ids have no fixed form. Every text is valid, and an unknown id is a 404. */
export const anyIdParameter = (example: string) =>
  z.object({
    id: z.string().meta({ description: 'The id, as returned by the list of channels.', examples: [example] }),
  });

export function readPath<P extends z.ZodObject>(schema: P, params: Record<string, string>): z.output<P> {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  throw new ApiError('invalid_path_parameter');
}

/** For an endpoint without parameters in its path or in its query. */
export const noParameters = z.object({});

/** Matches keys of any brand, because a key of another service is just as secret. The response never repeats one. */
const keyShape = /[A-Za-z0-9]_(live|test)_[!-~]{8}/;

/**
 * Parses a query string with a schema whose fields are the parameters. An unknown name, an invalid value or a repeated
 * parameter throws `invalid_query_parameter`. `param` names the first parameter that contains an API key, then the
 * first unknown one, both in the order sent, then the first invalid one in the order declared.
 */
export function readQuery<Q extends z.ZodObject>(schema: Q, search: string): z.output<Q> {
  const parameters = new URLSearchParams(search);
  refuseKeys(parameters);
  const names = Object.keys(schema.shape);
  const values: Record<string, string | string[]> = {};
  for (const name of new Set(parameters.keys())) {
    if (!names.includes(name)) throw invalid(name, unknownParameter(name, names));
    const sentValues = parameters.getAll(name);
    const [firstValue = ''] = sentValues;
    values[name] = sentValues.length === 1 ? firstValue : sentValues;
  }
  const parsed = schema.safeParse(values);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const invalidName = String(issue?.path[0]);
  // The path of an issue with one of several values also has the index of that value.
  const takesOneValue = Array.isArray(values[invalidName]) && issue?.path.length === 1;
  const rule = takesOneValue ? 'takes one value; send it only once' : (issue?.message ?? '');
  throw invalid(invalidName, `\`${invalidName}\` ${rule}.`);
}

function refuseKeys(parameters: URLSearchParams): void {
  for (const [name, value] of parameters) {
    const shown = keyShape.test(name) ? '[redacted]' : name;
    if (shown === name && !keyShape.test(value)) continue;
    throw invalid(
      shown,
      `\`${shown}\` seems to contain an API key; send keys only in the header \`Authorization\`, and replace this one, because logs store URLs.`,
    );
  }
}

/** The message for an unknown parameter: it names the nearest parameter of the endpoint, or all of them. */
function unknownParameter(name: string, names: string[]): string {
  const fault =
    name === ''
      ? 'The query has a parameter without a name'
      : `\`${name}\` is not a parameter of this endpoint`;
  if (names.length === 0) return `${fault}; send the request without parameters.`;
  // PHP, Rails and axios write lists in this form.
  const [, repeated = ''] = /^(.+)\[\d*\]$/.exec(name) ?? [];
  if (names.includes(repeated)) return `${fault}; for several values, repeat \`${repeated}\`.`;
  const nearest = closest(name, names);
  const isNear = name !== '' && distance(name, nearest) <= nearest.length / 3;
  if (isNear) return `${fault}; did you mean \`${nearest}\`?`;
  const quotedNames = names.map((known) => `\`${known}\``);
  return `${fault}; use one of ${quotedNames.join(', ')}.`;
}

const invalid = (param: string, message: string) =>
  new ApiError('invalid_query_parameter', { param, message });

/** A parameter with one of `values`. */
export const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` });

/** A parameter that may be given several times, each time one of `values`. */
export const severalOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.preprocess((given) => [given].flat(), z.array(oneOf(values)));
