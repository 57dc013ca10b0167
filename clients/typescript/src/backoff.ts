const baseMs = 500;
const ceilingMs = 30_000;

/**
 * How long to wait after the `attempt`th failure, in milliseconds: any time up to 0.5 s, 1 s, 2 s … 30 s, so
 * that clients which failed together do not come back together. What the service asks for comes on top.
 */
export function delayAfter(attempt: number, retryAfterMs: number | null, random: () => number): number {
  const jitterMs = random() * Math.min(ceilingMs, baseMs * 2 ** (attempt - 1));
  return Math.round(retryAfterMs === null ? jitterMs : retryAfterMs + Math.min(jitterMs, baseMs));
}

/**
 * `Retry-After`, in seconds or as a date, in milliseconds from now; null when it says nothing. A date is
 * measured by the `Date` of the same response, as clocks differ.
 */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const value = headers.get('Retry-After')?.trim() ?? '';
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const at = Date.parse(value);
  if (Number.isNaN(at)) return null;
  const sentMs = Date.parse(headers.get('Date') ?? '');
  return Math.max(0, at - (Number.isNaN(sentMs) ? nowMs : sentMs));
}
