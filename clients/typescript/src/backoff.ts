const baseMs = 500;
const ceilingMs = 30_000;

/**
 * The wait after a number of failures, in milliseconds: a random time up to 0.5 s, 1 s, 2 s … 30 s. Otherwise clients
 * that failed together would retry together. With `Retry-After`, the wait is that time and up to 0.5 s more.
 */
export function delayAfter(failures: number, requestedMs: number | null, random: () => number): number {
  const jitterMs = random() * Math.min(ceilingMs, baseMs * 2 ** (failures - 1));
  return Math.round(requestedMs === null ? jitterMs : requestedMs + Math.min(jitterMs, baseMs));
}

/**
 * Reads `Retry-After`, in seconds or as a date; of several values the first. Returns milliseconds from now, or null if
 * it is missing or malformed. A date is compared with the `Date` of the same response, because clocks differ.
 */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const value = headers.get('Retry-After')?.trim() ?? '';
  const [, seconds] = /^(\d+(?:\.\d+)?)\s*(?:,|$)/.exec(value) ?? [];
  if (seconds !== undefined) return Math.ceil(Number(seconds) * 1_000);
  // `Date.parse` would read nearly every text with a number as a date, so the text must begin like a date of HTTP.
  const retryAtMs = /^[A-Z][a-z]+,/.test(value) ? Date.parse(value) : NaN;
  if (Number.isNaN(retryAtMs)) return null;
  const sentMs = Date.parse(headers.get('Date') ?? '');
  return Math.max(0, retryAtMs - (Number.isNaN(sentMs) ? nowMs : sentMs));
}
