import type { z } from 'zod';
import type { RequestTrace } from '../../../shared/control/request-traces.ts';
import { type Interval, lastInstant } from '../paging/date-range.ts';

/** The parameters of a route with the schemas of their values. */
type Shape = Record<string, z.ZodType>;

const firstOf = (interval: unknown) => (interval as Interval).from;
const lastOf = (interval: unknown) => lastInstant(interval as Interval);

/**
 * Parameters whose valid values are numbers, dates or words of this API, and the text of a parsed value: the text that
 * the client sends has no limit in zeros and digits. For every other parameter a trace stores only the name, so the
 * values of a new parameter are not stored until it is listed here.
 */
const storedParameters = new Map<string, (parsed: unknown) => string>([
  ['limit', String],
  ['sort', String],
  ['status', String],
  ['type', String],
  ['createdAt[gte]', firstOf],
  ['createdAt[lte]', lastOf],
  ['updatedAt[gte]', firstOf],
  ['updatedAt[lte]', lastOf],
]);

/** The values of a parameter that has more are not stored. The longest valid list, of statuses, has five. */
const valuesMax = 8;

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
    return { name, values: tracedValues(shape, name, given.getAll(name)) };
  });
}

/** The parsed values of a parameter; null if they are not stored. */
function tracedValues(shape: Shape, name: string, given: string[]): string[] | null {
  const schema = shape[name];
  const textOf = storedParameters.get(name);
  if (!schema || !textOf) return null;
  const values = new Set<string>();
  for (const value of given) {
    const parsed = schema.safeParse(value);
    if (!parsed.success) return null;
    values.add(textOf(parsed.data));
    if (values.size > valuesMax) return null;
  }
  return [...values];
}

function tracedName(shape: Shape, name: string): string {
  if (Object.hasOwn(shape, name)) return name;
  return name.length <= nameLengthMax && nameShape.test(name) ? name : otherName;
}

/**
 * The id in a path. It names a ticket, a conversation or a channel, never a person, and support questions start from
 * it. Returns null for anything that does not look like an id, because clients may send any text.
 */
export const tracedId = (id: string | undefined): string | null =>
  id !== undefined && idShape.test(id) ? id : null;
