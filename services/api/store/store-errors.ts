import { MongoServerError } from 'mongodb';
import { NoSuchGeneration, OtherProjectionVersion } from '../../../shared/control/generations.ts';
import { isTransientStoreError, isUserRefusal } from '../../../shared/store/transient-errors.ts';

/** The read model cannot be served for a temporary reason: no generation yet, missing indexes, or no answer in time. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/**
 * A limit of this process was met: the store is well, and the client should try again soon. `share` is the part of
 * `requests` or `memory` that one organization or key may use: its own load has used it up.
 */
export class Overloaded extends Error {
  override readonly name = 'Overloaded';
  readonly limit: 'requests' | 'share' | 'memory';

  constructor(limit: Overloaded['limit'], message: string) {
    super(message);
    this.limit = limit;
  }
}

/** The codes of MongoDB for a command that has used up its time: a repetition would load a slow store twice. */
const timeLimitCodes = new Set<unknown>([50, 262]);

/** Whether the store is away, or refuses: also a user, whose connections are opened again meanwhile. */
const isRefused = (error: unknown): boolean => isTransientStoreError(error) || isUserRefusal(error);

/** Whether a read that failed with this error may succeed when it is repeated: the store was away, not slow. */
export const isRepeatable = (error: unknown): boolean =>
  isRefused(error) && !(error instanceof MongoServerError && timeLimitCodes.has(error.code));

/** MongoDB's code for a value that it does not accept. */
const badValue = 2;

/** Whether MongoDB has not found the index of a `hint`: it was dropped or hidden, or is being built. */
const lacksIndex = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === badValue && /\bhint\b/.test(error.message);

/** Whether an error is a temporary one of the store (503) and not a bug in a query (500). */
export const isStoreUnavailable = (error: unknown): boolean =>
  error instanceof StoreUnavailable ||
  error instanceof OtherProjectionVersion ||
  error instanceof NoSuchGeneration ||
  isRefused(error) ||
  lacksIndex(error) ||
  (error instanceof DOMException && error.name === 'TimeoutError');
