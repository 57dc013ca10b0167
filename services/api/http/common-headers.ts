/** Headers of every response of the API, whether the application or the HTTP parser produces it. */
export const commonHeaders = {
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
} as const;

/** One year, the minimum for browsers' preload lists. Subdomains are excluded: this service does not own them. */
export const strictTransportSecurity = 'max-age=31536000';
