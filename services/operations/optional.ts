import { MongoServerError } from 'mongodb';
import { errorMessage } from '../../shared/runtime/error-message.ts';

/** A part of a report that MongoDB refused to count, or did not count in time, and its reason. */
export type NotCounted = { part: string; reason: string };

/**
 * Reads a part that a report can do without. If MongoDB answers with an error, adds the part to `notCounted` and
 * returns null, because an old version of MongoDB or a setting may refuse one command. The report then shows the other
 * parts. Rejects if MongoDB is away.
 */
export async function readOptional<T>(
  notCounted: NotCounted[],
  part: string,
  read: () => Promise<T>,
): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error;
    notCounted.push({ part, reason: errorMessage(error) });
    return null;
  }
}
