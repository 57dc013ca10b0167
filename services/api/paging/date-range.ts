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
/**
 * The same shape for the OpenAPI document, with the range of each number, in syntax that all languages share.
 */
const textPattern =
  '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])' +
  '([Tt]([01][0-9]|2[0-3]):[0-5][0-9](:([0-5][0-9]|60)(\\.[0-9]+)?)?([Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?))?$';

/**
 * Parses ISO 8601: a UTC day, or a time with `Z` or an offset. Returns null for any other text.
 *
 * A time to the second covers the whole second, because responses show whole seconds; likewise a day and a minute. A
 * fraction of zeros counts as no fraction, because many languages add one to a time from a response. Digits after the
 * milliseconds are ignored, because MongoDB stores nothing finer.
 */
export function parseInterval(value: string): Interval | null {
  // A `+` that was not percent-encoded arrives as a space.
  const match = shape.exec(value.replace(/ (?=\d\d(:?\d\d)?$)/, '+'));
  if (!match) return null;
  const [, day = '', minutes = '00:00', seconds, fraction, zone = 'Z'] = match;
  const start = parseInstant(`${day}T${minutes}:${seconds ?? '00'}.${fraction ?? '0'}${fullZone(zone)}`);
  if (!start) return null;
  const isDay = match[2] === undefined;
  const end = new Date(start.getTime() + (isDay ? dayMs : timeLengthMs(seconds, fraction)) - 1);
  return { from: start.toISOString(), until: keyAbove(end) };
}

/** The length of the interval that a time to the minute, the second or the millisecond covers. */
function timeLengthMs(seconds: string | undefined, fraction: string | undefined): number {
  if (fraction !== undefined && /[1-9]/.test(fraction)) return 1;
  return seconds === undefined ? 60_000 : 1_000;
}

/** Returns `+01` and `+0100` as `+01:00`, the only form that `parseInstant` reads. */
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
  // No `format`, because generated clients would use a type of their language, which takes no day or adds a fraction.
  .meta({ type: 'string', pattern: textPattern });

export const dateRangeOf = (gte: Interval | undefined, lte: Interval | undefined): DateRange => ({
  from: gte?.from ?? null,
  until: lte?.until ?? null,
});
