/** What the function that applies records is given beside them. */
export type ApplyContext = {
  /** Aborted when the worker loses its partition, or the process stops. */
  signal: AbortSignal;
  /** Aborted earlier, when no further batch is wanted: what has not begun must not be waited for. */
  stopping?: AbortSignal;
  /** To be called after each part of the work that is durable: the worker counts as stuck without progress. */
  onProgress: () => void;
};

/** The outcome of a batch of records of one partition. `times` are the events' own, in milliseconds. */
export type Applied = { events: number; rejected: number; times: number[] };
