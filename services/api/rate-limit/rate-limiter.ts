export type RateLimit = {
  /** Requests that one key may make in one window; 0 = no limit. */
  requests: number;
  windowSeconds: number;
};

/** A key's window once a request has been counted or refused. */
export type Usage = {
  /** Whether the request was counted. One that is refused is not, so that waiting always helps. */
  admitted: boolean;
  remaining: number;
  /** Until the oldest counted request leaves the window, and one more is admitted; 0 when none is counted. */
  resetMs: number;
};

/**
 * Sliding windows, one for each key: no stretch of time as long as the window holds more requests than the
 * limit. After a burst none is admitted until the window has passed, then as many as age out.
 */
export type RateLimiter = { consume: (key: string) => Usage | Promise<Usage> };
