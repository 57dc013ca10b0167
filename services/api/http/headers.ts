/** Headers of every response of the API, whether the application or the HTTP parser produces it. */
export const commonHeaders = {
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
} as const;

/** One year, the minimum for browsers' preload lists. Subdomains are excluded: this service does not own them. */
export const strictTransportSecurity = 'max-age=31536000';

/** HTTP headers count in whole seconds; rounding down would send the client back too early. */
export const wholeSeconds = (ms: number): string => String(Math.ceil(ms / 1_000));

/** Asks the client how long to wait before it sends the request again. */
export const retryAfter = (ms: number) => ({ 'Retry-After': wholeSeconds(ms) });
