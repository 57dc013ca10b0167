export const dayMs = 86_400_000;

/** `2026-03-01T09:30:00Z`, or `2026-03-01t09:30:00.123456+02:00`. */
const shape = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

const daysIn = (year: number, month: number) =>
  new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();

/** `Date.UTC` reads the years 0 to 99 as 1900 to 1999. The calendar repeats after 400 years. */
const fourCenturiesMs = Date.UTC(2400, 0) - Date.UTC(2000, 0);
const firstMs = Date.UTC(400, 0) - fourCenturiesMs;
const lastMs = Date.UTC(10_000, 0) - 1;

/** The number that `count` digits of a text form. Groups of a regular expression would create objects. */
function digits(text: string, start: number, count: number): number {
  let number = 0;
  for (let index = start; index < start + count; index += 1)
    number = number * 10 + text.charCodeAt(index) - 48;
  return number;
}

/**
 * Parses an RFC 3339 timestamp. Fractions beyond the millisecond are truncated; a leap second counts as the first
 * instant of the next minute. Returns null for any other text, and for instants outside the years 0 to 9999, since
 * sort keys rely on the fixed width of an ISO 8601 string.
 */
export function parseInstant(value: string): Date | null {
  if (!shape.test(value)) return null;
  const year = digits(value, 0, 4);
  const month = digits(value, 5, 2);
  const day = digits(value, 8, 2);
  const hour = digits(value, 11, 2);
  const minute = digits(value, 14, 2);
  const second = digits(value, 17, 2);
  if (!isDay(year, month, day) || hour > 23 || minute > 59 || second > 60) return null;
  const hasOffset = value.at(-3) === ':';
  const end = value.length - (hasOffset ? 6 : 1);
  const offsetMs = hasOffset ? offsetAt(value, end) : 0;
  const fractionDigits = second === 60 ? 0 : Math.max(0, Math.min(3, end - 20));
  const millisecond = digits(value, 20, fractionDigits) * 10 ** (3 - fractionDigits);
  const localMs = Date.UTC(year + 400, month - 1, day, hour, minute, second, millisecond) - fourCenturiesMs;
  const ms = localMs - offsetMs;
  // The comparison is also false for NaN.
  const isInRange = ms >= firstMs && ms <= lastMs;
  return isInRange ? new Date(ms) : null;
}

const isDay = (year: number, month: number, day: number): boolean =>
  month >= 1 && month <= 12 && day >= 1 && (day <= 28 || day <= daysIn(year, month));

/** The offset at the end of a timestamp, such as `+02:00`, in milliseconds; NaN if there is no such offset. */
function offsetAt(value: string, start: number): number {
  const hours = digits(value, start + 1, 2);
  const minutes = digits(value, start + 4, 2);
  if (hours > 23 || minutes > 59) return NaN;
  const ms = (hours * 60 + minutes) * 60_000;
  return value[start] === '-' ? -ms : ms;
}

/**
 * A record's timestamp as ISO 8601; null if it exceeds the range of dates, since producers may stamp any 64 bits, such
 * as nanoseconds.
 */
export function recordTime(timestampMs: number): string | null {
  const at = new Date(timestampMs);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** A record's time in words. */
export const recordTimeText = (time: string | null): string => time ?? 'no valid time';

/**
 * The sort key of an item: its instant to the millisecond, then its id. Keys compare bytewise, and no two items share
 * a key, so a page is one contiguous range and a cursor is one bound.
 */
export const sortKey = (instant: Date, id: string) => `${instant.toISOString()}${id}`;

/** The lowest text above every sort key of an instant: `[` is the character after `Z`, which ends the instant. */
export const keyAbove = (instant: Date): string => `${instant.toISOString().slice(0, -1)}[`;
