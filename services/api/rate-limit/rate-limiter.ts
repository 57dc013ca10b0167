/** The rule of a rate limit. */
export type RateLimit = {
  /** Requests that a key without a limit of its own may make in one window; 0 = no limit. */
  requests: number;
  windowSeconds: number;
};

/** The state of a key's window after a request has been counted or refused. */
export type RateLimitUsage = {
  /** Whether the limiter has counted the request. A refused request is not counted, so waiting always helps. */
  admitted: boolean;
  remaining: number;
  /**
   * Time until enough requests have left the window for one more; 0 if the window is empty. The oldest request is
   * enough, unless the limit was lowered below the number of counted requests.
   */
  resetMs: number;
};

/**
 * A sliding window for each key: no period of the window's length contains more requests than the limit. After a burst,
 * one more request is admitted whenever a counted request leaves the window. `requestsMax` is the limit of the key,
 * by default that of all keys. If it changes during the window, the counted requests stay counted.
 */
export type RateLimiter = {
  consume: (key: string, requestsMax?: number) => RateLimitUsage | Promise<RateLimitUsage>;
};
