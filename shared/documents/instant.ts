const shape = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

const daysIn = (year: number, month: number) =>
  new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();

/**
 * Parses an RFC 3339 timestamp. Fractions beyond the millisecond are truncated; a leap second counts as the first
 * instant of the next minute. Returns null for any other text, and for instants outside the years 0 to 9999, since
 * sort keys rely on the fixed width of an ISO 8601 string.
 */
export function parseInstant(value: string): Date | null {
  const match = shape.exec(value);
  if (!match) return null;
  const part = (index: number) => Number(match[index] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 60 || part(9) > 23 || part(10) > 59) return null;
  const millisecond = second === 60 ? 0 : Number((match[7] ?? '').padEnd(3, '0').slice(0, 3));
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second, millisecond);
  const offsetMinutes = (match[8] === '-' ? -1 : 1) * (part(9) * 60 + part(10));
  const shifted = new Date(date.getTime() - offsetMinutes * 60_000);
  const shiftedYear = shifted.getUTCFullYear();
  return shiftedYear < 0 || shiftedYear > 9999 ? null : shifted;
}

/**
 * The sort key of an item: its instant to the millisecond, then its id. Keys compare bytewise, and no two items share
 * a key, so that a page is one contiguous range and a cursor is one bound.
 */
export const sortKey = (instant: Date, id: string) => `${instant.toISOString()}${id}`;
