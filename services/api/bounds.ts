/** Bounds that suit every deployment, so that no setting changes them. Tests give smaller ones. */
export type Bounds = {
  /** The window of every rate limit. */
  windowSeconds: number;
  /** How long a request waits for the shared counts before its replica counts for itself. */
  countTimeoutMs: number;
  /** Requests without a valid key, or over plain HTTP, of one client address in a window. */
  authFailuresMax: number;
  /** Log lines and traces a minute of requests without a valid key, or above their rate limit. */
  unauthenticatedMax: number;
  /** Index entries that MongoDB examines for one page of tickets: filtered by one date, sorted by the other. */
  scanEntriesMax: number;
};

export const bounds: Bounds = {
  // Clients state rate limits by the minute; a limit by the hour would let a client spend it in a second.
  windowSeconds: 60,
  // Far above an answer of Redis in the same network, and far below the time-outs of clients.
  countTimeoutMs: 250,
  // Five a second: more than the retries of a client with a wrong key, and too few to guess one.
  authFailuresMax: 300,
  // Ten a second, some 250 MB of log a day: enough to recognize a flood.
  unauthenticatedMax: 600,
  // Some 0.1 s of MongoDB.
  scanEntriesMax: 20_000,
};
