/** HTTP headers count in whole seconds; rounding down would send the client back too early. */
export const wholeSeconds = (ms: number): string => String(Math.ceil(ms / 1_000));

/** Tells the client how long to wait before it sends the request again. */
export const retryAfter = (ms: number) => ({ 'Retry-After': wholeSeconds(ms) });
