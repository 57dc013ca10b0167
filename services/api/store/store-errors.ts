import { MongoServerError } from 'mongodb';
import { NoSuchGeneration, OtherProjectionVersion } from '../../../shared/control/generations.ts';
import type { ErrorClass } from '../../../shared/store/error-classes.ts';
import { classifyStoreError } from '../../../shared/store/errors.ts';

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

/** Whether an error of a class is the store's, which may pass. */
const isOfStore: Record<ErrorClass, boolean> = {
  // MongoDB refuses the user only on old connections, which the pool monitor reopens.
  'refuses-us': true,
  'refuses-connection': true,
  overloaded: true,
  'too-slow': true,
  passes: true,
  'refuses-document': false,
  'wrong-command': false,
  'no-memory': false,
  'our-code': false,
  other: false,
};

/** MongoDB's code for a value that it does not accept. */
const badValue = 2;

/** Whether MongoDB has not found the index of a `hint`: it was dropped or hidden, or is being built. */
const lacksIndex = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === badValue && /\bhint\b/.test(error.message);

/** Whether an error is a temporary failure of the store (503), not a bug in a query (500). */
export const isStoreUnavailable = (error: unknown): boolean =>
  error instanceof StoreUnavailable ||
  error instanceof OtherProjectionVersion ||
  error instanceof NoSuchGeneration ||
  isOfStore[classifyStoreError(error).is] ||
  lacksIndex(error) ||
  (error instanceof DOMException && error.name === 'TimeoutError');
