import type { Middleware } from '../http/context.ts';
import type { OpenReader } from '../store/reader.ts';

/** Gives the request its reader. The reader ends with the response, so that the memory of the request is free again. */
export const requestReader =
  ({ openReader }: { openReader: OpenReader }): Middleware =>
  ({ state, res }, next) => {
    const { caller, snapshot } = state;
    if (!caller || !snapshot) throw new Error('a reader was opened before authentication');
    // A response that has closed would never end its reader.
    if (res.closed) return undefined;
    const store = openReader(caller, snapshot);
    res.once('close', store.end);
    state.store = store;
    return next();
  };
