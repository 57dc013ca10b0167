import { z } from 'zod';
import type { RequestTrace } from '../../../shared/control/request-traces.ts';
import { dateBound, type Interval, lastInstant } from '../paging/date-range.ts';

/** The schema of each query parameter of a route, by the name of the parameter. */
type Shape = Record<string, z.ZodType>;

/**
 * Whether a schema accepts only words of this API, such as `open`, or dates, or numbers with a declared maximum. Any
 * other value may identify a person, so a trace stores only the name of its parameter.
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

/**
 * The unknown names that a trace stores, such as `created_after` or `createdAt[gt]`. Other names become `otherName`.
 * Never matches an API key, which contains `_live_` or `_test_`.
 */
const nameShape = /^(?!.*_(live|test)_)[A-Za-z]+([_-][A-Za-z]+)*(\[[a-z]+\])?$/;
const nameLengthMax = 32;
const otherName = '(other)';
/** A trace omits the parameters after this number. */
const parametersMax = 20;

/** An id such as `ti_01K3QZ8M4T`: a lower-case prefix and a remainder. Never matches an API key. */
const idShape = /^(?!.*_(live|test)_)[a-z]{1,16}_[A-Za-z0-9_-]{1,128}$/;

/**
 * The parameters of a query string without anything that could identify a person. Only a valid value of an impersonal
 * parameter is stored, because an invalid value may be any text, such as an email address.
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
function tracedValues(shape: Shape, name: string, texts: string[]): string[] | null {
  const schema = shape[name];
  if (!schema || !isImpersonal(schema)) return null;
  const values = new Set<string>();
  for (const text of texts) {
    const parsed = schema.safeParse(text);
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
 * The id in a path. It identifies a ticket, a conversation or a channel, never a person. Operators search traces by
 * this id. Returns null for any text that does not look like an id, because clients may send any text.
 */
export const tracedId = (id: string | undefined): string | null =>
  id !== undefined && idShape.test(id) ? id : null;
