/** Headers of every response of the API, whether the application or the HTTP parser produces it. */
export const commonHeaders = {
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
} as const;

/** One year, the minimum for browsers' preload lists. Subdomains are not included: this service does not own them. */
export const strictTransportSecurity = 'max-age=31536000';

/** HTTP headers have whole seconds. Rounds up, because the client would otherwise come back too early. */
export const wholeSeconds = (ms: number): string => String(Math.ceil(ms / 1_000));

/** The header with the time that the client should wait before it sends the request again. */
export const retryAfter = (ms: number) => ({ 'Retry-After': wholeSeconds(ms) });
