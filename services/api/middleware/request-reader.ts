import type { Middleware } from '../http/context.ts';
import type { OpenReader } from '../store/reader.ts';

/** Opens the reader of the request. The reader ends with the response, which releases the memory of the request. */
export const requestReader =
  ({ openReader }: { openReader: OpenReader }): Middleware =>
  ({ state, res }, next) => {
    const { caller, snapshot } = state;
    if (!caller || !snapshot) throw new Error('a reader was opened before authentication');
    // A closed response emits no further `close`, so its reader would never end.
    if (res.closed) return undefined;
    const store = openReader(caller, snapshot);
    res.once('close', store.end);
    state.store = store;
    return next();
  };
