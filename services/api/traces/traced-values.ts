import { z } from 'zod';
import type { RequestTrace } from '../../../shared/control/request-traces.ts';
import { dateBound, type Interval, lastInstant } from '../paging/date-range.ts';

/** The parameters of a route with the schemas of their values. */
type Shape = Record<string, z.ZodType>;

/**
 * Whether the valid values of a schema are words of this API, numbers up to a limit of their own, or dates. Any other
 * text may name a person, so a trace stores only the name of its parameter.
 */
function isImpersonal(schema: unknown): boolean {
  if (schema === dateBound || schema instanceof z.ZodEnum) return true;
  if (schema instanceof z.ZodNumber) return Number(schema.maxValue) < Number.MAX_SAFE_INTEGER;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return isImpersonal(schema.unwrap());
  if (schema instanceof z.ZodArray) return isImpersonal(schema.element);
  // A pipe converts the text first, for example digits to a number. Its result decides.
  return schema instanceof z.ZodPipe && isImpersonal(schema.out);
}

/** A parsed value as text, because the text that the client sent may be arbitrarily long, for example `0000…5`. */
function textOf(name: string, parsed: unknown): string {
  if (!isInterval(parsed)) return String(parsed);
  return name.endsWith('[lte]') ? lastInstant(parsed) : parsed.from;
}

const isInterval = (parsed: unknown): parsed is Interval =>
  typeof parsed === 'object' && parsed !== null && 'from' in parsed;

/** If a parameter has more values than this, a trace omits them all. The longest valid list, of statuses, has five. */
const valuesMax = 8;

/** A trace has the name of an unknown parameter if it looks like the name of a parameter, and otherwise `otherName`. */
const nameShape = /^(?!.*_(live|test)_)[A-Za-z]+([_-][A-Za-z]+)*(\[[a-z]+\])?$/;
const nameLengthMax = 32;
const otherName = '(other)';
/** A trace omits the parameters after this number. */
const parametersMax = 20;

/** An id such as `ti_…`: a lower-case prefix and a remainder, but never in the form of an API key. */
const idShape = /^(?!.*_(live|test)_)[a-z]{1,16}_[A-Za-z0-9_-]{1,128}$/;

/**
 * The parameters of a query string without anything that could identify a person. A value is stored only if it is
 * valid, and its parameter takes nothing personal.
 */
export function tracedParameters(shape: Shape, search: string): RequestTrace['parameters'] {
  if (search === '') return [];
  const parameters = new URLSearchParams(search);
  const names = new Set([...parameters.keys()].map((name) => tracedName(shape, name)));
  return [...names].slice(0, parametersMax).map((name) => {
    return { name, values: tracedValues(shape, name, parameters.getAll(name)) };
  });
}

/** The parsed values of a parameter; null if they are not stored. */
function tracedValues(shape: Shape, name: string, given: string[]): string[] | null {
  const schema = shape[name];
  if (!schema || !isImpersonal(schema)) return null;
  const values = new Set<string>();
  for (const value of given) {
    const parsed = schema.safeParse(value);
    if (!parsed.success) return null;
    values.add(textOf(name, parsed.data));
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
