import { isCodeError } from '../../../shared/store/code-errors.ts';
import type { Change } from '../events/change.ts';

/** The results of work on the parts of a chunk, in log order, and the changes that make the projector throw. */
type Isolated<T> = { results: T[]; failed: { change: Change; error: unknown }[] };

/**
 * Applies the changes of a chunk by `work`. If a bug makes the projector throw, halves the changes until it has found
 * each change that triggers the bug. The other changes are applied, some of them more than once. Rejects with any other
 * error, such as one of MongoDB. The partition then retries the chunk.
 */
export async function isolate<T>(
  changes: Change[],
  work: (part: Change[]) => Promise<T>,
): Promise<Isolated<T>> {
  try {
    return { results: [await work(changes)], failed: [] };
  } catch (error) {
    if (!isCodeError(error)) throw error;
    const [change] = changes;
    if (!change) throw error;
    if (changes.length === 1) return isolateOne(change, work);
    const half = Math.ceil(changes.length / 2);
    const first = await isolate(changes.slice(0, half), work);
    const second = await isolate(changes.slice(half), work);
    return { results: [...first.results, ...second.results], failed: [...first.failed, ...second.failed] };
  }
}

/** Tries a change again, because the MongoDB driver itself may throw a TypeError once, when it loses a connection. */
async function isolateOne<T>(change: Change, work: (part: Change[]) => Promise<T>): Promise<Isolated<T>> {
  try {
    return { results: [await work([change])], failed: [] };
  } catch (error) {
    if (!isCodeError(error)) throw error;
    return { results: [], failed: [{ change, error }] };
  }
}
