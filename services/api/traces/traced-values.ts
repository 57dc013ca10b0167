import type { z } from 'zod';
import type { RequestTrace } from '../../../shared/store/request-traces.ts';

/** The parameters of a route with the schemas of their values. */
type Shape = Record<string, z.ZodType>;

/**
 * Parameters whose valid values are numbers, dates or words of this API. For every other parameter a trace stores only
 * the name, so the values of a new parameter are not stored until it is listed here.
 */
const storedParameters = new Set([
  'limit',
  'sort',
  'status',
  'type',
  'createdAt[gte]',
  'createdAt[lte]',
  'updatedAt[gte]',
  'updatedAt[lte]',
]);

/** Names of unknown parameters are stored if they look like a parameter name; all others are stored as `otherName`. */
const nameShape = /^(?!.*_(live|test)_)[A-Za-z]+([_-][A-Za-z]+)*(\[[a-z]+\])?$/;
const nameLengthMax = 32;
const otherName = '(other)';
/** Further parameters are left out of the trace. */
const parametersMax = 20;

/** An id such as `ti_…`: a lower-case prefix and a remainder; nothing that looks like an API key. */
const idShape = /^(?!.*_(live|test)_)[a-z]{1,16}_[A-Za-z0-9_-]{1,128}$/;

/**
 * The parameters of a query string without anything that could identify a person. A value is stored only if its
 * parameter is listed above and the value is valid.
 */
export function tracedParameters(shape: Shape, search: string): RequestTrace['parameters'] {
  if (search === '') return [];
  const given = new URLSearchParams(search);
  const names = new Set([...given.keys()].map((name) => tracedName(shape, name)));
  return [...names].slice(0, parametersMax).map((name) => {
    const schema = storedParameters.has(name) ? shape[name] : undefined;
    const values = [...new Set(given.getAll(name))];
    const isStored = schema && values.every((value) => schema.safeParse(value).success);
    return { name, values: isStored ? values : null };
  });
}

function tracedName(shape: Shape, name: string): string {
  if (Object.hasOwn(shape, name)) return name;
  return name.length <= nameLengthMax && nameShape.test(name) ? name : otherName;
}

/**
 * The id in a path. It names a ticket, a conversation or a channel, never a person, and support questions start from it.
 * Returns null for anything that does not look like an id, because clients may send any text.
 */
export const tracedId = (id: string | undefined): string | null =>
  id !== undefined && idShape.test(id) ? id : null;
