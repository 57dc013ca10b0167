import { isCodeError } from '../../../shared/store/code-errors.ts';
import type { Change } from '../events/change.ts';

/** The results of work on the parts of a chunk, in log order, and the changes for which the code throws. */
type Isolated<T> = { done: T[]; failed: { change: Change; error: unknown }[] };

/**
 * Applies the changes of a chunk by `work`. If the code throws, halves the changes again and again, until it has found
 * each change for which the code throws. The other changes are applied, some of them more than once. Rejects with any
 * other error, such as one of MongoDB: the partition then retries the chunk.
 */
export async function isolate<T>(
  changes: Change[],
  work: (part: Change[]) => Promise<T>,
): Promise<Isolated<T>> {
  try {
    return { done: [await work(changes)], failed: [] };
  } catch (error) {
    if (!isCodeError(error)) throw error;
    const [change, ...others] = changes;
    if (!change) throw error;
    if (others.length === 0) return isolateOne(change, work);
    const half = Math.ceil(changes.length / 2);
    const first = await isolate(changes.slice(0, half), work);
    const second = await isolate(changes.slice(half), work);
    return { done: [...first.done, ...second.done], failed: [...first.failed, ...second.failed] };
  }
}

/** Tries a change twice, because the driver may throw an error of code once, when it loses a connection. */
async function isolateOne<T>(change: Change, work: (part: Change[]) => Promise<T>): Promise<Isolated<T>> {
  try {
    return { done: [await work([change])], failed: [] };
  } catch (error) {
    if (!isCodeError(error)) throw error;
    return { done: [], failed: [{ change, error }] };
  }
}
