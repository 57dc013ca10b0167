/** The rule: how many requests a key may make in which time. */
export type RateLimit = {
  /** Requests that one key may make in one window; 0 = no limit. */
  requests: number;
  windowSeconds: number;
};

/** The state of a key's window after a request has been counted or refused. */
export type RateLimitUsage = {
  /** Whether the request was counted. A refused request is not, so waiting always helps. */
  admitted: boolean;
  remaining: number;
  /** Time until the oldest counted request leaves the window and one more is admitted; 0 if none is counted. */
  resetMs: number;
};

/**
 * Sliding windows, one per key: no period as long as the window contains more requests than the limit. After a burst no
 * request is admitted until the window has passed; then one for each request that leaves the window.
 */
export type RateLimiter = { consume: (key: string) => RateLimitUsage | Promise<RateLimitUsage> };
