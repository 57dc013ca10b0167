import { MongoServerError } from 'mongodb';
import { NoSuchGeneration, OtherProjectionVersion } from '../../../shared/control/generations.ts';
import { type ErrorClass, transientClasses } from '../../../shared/store/error-classes.ts';
import { classifyStoreError } from '../../../shared/store/errors.ts';

/** The read model cannot be served for a temporary reason: no generation yet, missing indexes, or no answer in time. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/**
 * A limit of this process is in use: MongoDB is well, and the client should try again soon. `requests` and `memory` are
 * limits of all clients together. `share` is the part of them that one organization or key may use.
 */
export class Overloaded extends Error {
  override readonly name = 'Overloaded';
  readonly limit: 'requests' | 'share' | 'memory';

  constructor(limit: Overloaded['limit'], message: string) {
    super(message);
    this.limit = limit;
  }
}

/**
 * The classes of errors of MongoDB that may pass: the client gets 503. MongoDB refuses the user only on old
 * connections, which the pool monitor reopens.
 */
export const passingClasses: readonly ErrorClass[] = [...transientClasses, 'unauthorized'];

/** MongoDB's code for a value that it does not accept. */
const badValue = 2;

/** Whether MongoDB lacks the index of a `hint`, which was dropped or hidden, or is being built. */
const lacksIndex = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === badValue && /\bhint\b/.test(error.message);

/** Whether an error is a temporary failure of the store (503), not a bug in a query (500). */
export const isStoreUnavailable = (error: unknown): boolean =>
  error instanceof StoreUnavailable ||
  error instanceof OtherProjectionVersion ||
  error instanceof NoSuchGeneration ||
  passingClasses.includes(classifyStoreError(error).errorClass) ||
  lacksIndex(error) ||
  (error instanceof DOMException && error.name === 'TimeoutError');
