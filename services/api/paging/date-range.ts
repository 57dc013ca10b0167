import { z } from 'zod';
import { dayMs, keyAbove, parseInstant } from '../../../shared/documents/instant.ts';

/**
 * A range of sort keys: `from` is inclusive, `until` exclusive; null means unbounded. Sort keys start with an instant,
 * so the text of an instant can bound them.
 */
export type DateRange = { from: string | null; until: string | null };

/** The interval that a date or time covers: a day, a minute, a second or a millisecond. */
export type Interval = { from: string; until: string };

/** The last instant that an interval contains. */
export const lastInstant = ({ until }: Interval): string => `${until.slice(0, -1)}Z`;

const shape = /^(\d{4}-\d\d-\d\d)(?:[Tt](\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)?([Zz]|[+-]\d\d(?::?\d\d)?))?$/;
/** The same for the OpenAPI document, with the ranges of the numbers, in the expressions that all languages share. */
const textPattern =
  '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])' +
  '([Tt]([01][0-9]|2[0-3]):[0-5][0-9](:([0-5][0-9]|60)(\\.[0-9]+)?)?([Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?))?$';

/**
 * Parses ISO 8601: a UTC day, or a time with `Z` or an offset; returns null for anything else. Bounds are inclusive, so
 * a time to the second covers the whole second, because responses contain whole seconds; likewise a day and a minute. A
 * fraction of zeros counts as no fraction, because many languages add one to a time from a response. Digits after the
 * milliseconds are ignored, because the store holds nothing finer.
 */
export function parseInterval(value: string): Interval | null {
  // A `+` that was not percent-encoded arrives as a space.
  const match = shape.exec(value.replace(/ (?=\d\d(:?\d\d)?$)/, '+'));
  if (!match) return null;
  const [, day = '', minutes = '00:00', seconds, fraction, zone = 'Z'] = match;
  const start = parseInstant(`${day}T${minutes}:${seconds ?? '00'}.${fraction ?? '0'}${fullZone(zone)}`);
  if (!start) return null;
  const isDay = match[2] === undefined;
  const last = new Date(start.getTime() + (isDay ? dayMs : timeLengthMs(seconds, fraction)) - 1);
  return { from: start.toISOString(), until: keyAbove(last) };
}

/** How long a time lasts that is written to the minute, the second or the millisecond. */
function timeLengthMs(seconds: string | undefined, fraction: string | undefined): number {
  if (fraction !== undefined && /[1-9]/.test(fraction)) return 1;
  return seconds === undefined ? 60_000 : 1_000;
}

/** `+01` and `+0100` are valid in ISO 8601 too, but `parseInstant` expects `+01:00`. */
const fullZone = (zone: string): string =>
  zone.length < 2 ? zone : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;

/** A date bound in a query string. The OpenAPI document describes the text that clients send. */
export const dateBound = z
  .string()
  .transform((value, context): Interval => {
    const interval = parseInterval(value);
    if (interval) return interval;
    context.addIssue({ code: 'custom', message: 'must be an ISO 8601 date, or a time with Z or an offset' });
    return z.NEVER;
  })
  // Generated clients would turn a format into a type of their own, which lacks a day or has fractions of a second.
  .meta({ type: 'string', pattern: textPattern });

export const dateRangeOf = (gte: Interval | undefined, lte: Interval | undefined): DateRange => ({
  from: gte?.from ?? null,
  until: lte?.until ?? null,
});
