import type { z } from 'zod';
import type { RequestTrace } from '../../../shared/store/request-traces.ts';

/** The parameters of a route, each with the schema of its value. */
export type Shape = Record<string, z.ZodType>;

/**
 * Parameters whose valid values are numbers, dates and words of our own. Of every other one a trace keeps the
 * name alone: a new parameter is kept out until it is named here.
 */
const keptParameters = new Set([
  'limit',
  'sort',
  'status',
  'type',
  'createdAt[gte]',
  'createdAt[lte]',
  'updatedAt[gte]',
  'updatedAt[lte]',
]);

/** Names that a client made up may be anything; those that read like a parameter's are kept, the rest are one. */
const nameShape = /^(?!.*_(live|test)_)[A-Za-z]+([_-][A-Za-z]+)*(\[[a-z]+\])?$/;
const nameLengthMax = 32;
const otherName = '(other)';
/** Further ones are left out of the trace. */
const parametersMax = 20;

/** An id as this service makes them, `ti_…`: a lower-case prefix, a remainder, and nothing like an API key. */
const idShape = /^(?!.*_(live|test)_)[a-z]{1,16}_[A-Za-z0-9_-]{1,128}$/;

/**
 * The parameters of a query string less what could identify a person: a value is kept where the parameter is
 * one of those above and the route would accept it. `isAccepted` says that it did, so that they are not
 * checked twice.
 */
export function tracedParameters(
  shape: Shape,
  search: string,
  isAccepted: boolean,
): RequestTrace['parameters'] {
  if (search === '') return [];
  const given = new URLSearchParams(search);
  const names = new Set([...given.keys()].map((name) => tracedName(shape, name)));
  return [...names].slice(0, parametersMax).map((name) => {
    const schema = keptParameters.has(name) ? shape[name] : undefined;
    const values = [...new Set(given.getAll(name))];
    const isValid = (value: string) => isAccepted || schema?.safeParse(value).success;
    const isKept = schema !== undefined && values.every(isValid);
    return { name, values: isKept ? values : null };
  });
}

function tracedName(shape: Shape, name: string): string {
  if (Object.hasOwn(shape, name)) return name;
  return name.length <= nameLengthMax && nameShape.test(name) ? name : otherName;
}

/**
 * The id in a path: it names a ticket, a conversation or a channel, never a person, and it is what a question
 * about a request begins with. A client may have put anything in its place; then nothing is kept.
 */
export const tracedId = (id: string | undefined): string | null =>
  id !== undefined && idShape.test(id) ? id : null;
