/** Bounds that suit every deployment, so no setting changes them. Tests pass smaller ones. */
export type Bounds = {
  /** The window of every rate limit. */
  windowSeconds: number;
  /** How long a request waits for the shared rate limit store before its replica counts for itself. */
  countTimeoutMs: number;
  /** Requests without a valid key, or over plain HTTP, of one client address in a window. */
  authFailuresMax: number;
  /** Log lines and traces a minute of requests without a valid key, or above their rate limit. */
  unauthenticatedMax: number;
  /**
   * Index entries that MongoDB examines for one page of tickets that is filtered by one date and sorted by the other.
   */
  scanEntriesMax: number;
};

export const defaultBounds: Bounds = {
  // Clients state rate limits by the minute; a limit by the hour would let a client spend it in a second.
  windowSeconds: 60,
  // Redis in the same network answers far sooner, and clients wait far longer.
  countTimeoutMs: 250,
  // Five a second: more than the retries of a client with a wrong key, and too few to guess one.
  authFailuresMax: 300,
  // Ten a second, some 250 MB of log a day: enough to recognize a flood.
  unauthenticatedMax: 600,
  // MongoDB examines as many in some 0.1 s.
  scanEntriesMax: 20_000,
};
