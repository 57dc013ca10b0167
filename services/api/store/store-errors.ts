import { MongoError, MongoNetworkError, MongoServerError, MongoSystemError } from 'mongodb';

/** The read model cannot be served for a reason that passes: no generation yet, indexes missing, no answer. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** Driver errors that mean a lost or closed connection, besides network errors. */
const driverErrors = new Set([
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoServerClosedError',
  'MongoClientClosedError',
  'MongoExpiredSessionError',
  'MongoOperationTimeoutError',
]);

/**
 * Server codes that pass: internal failures of a proxying store (1), host (6, 7), limits of time (50, 262),
 * lost connections (89, 9001), shutdown and elections (91, 189, 11600, 11602, 10058, 10107, 13435, 13436),
 * cursors that the store gave up (43, 175, 237).
 */
const passingCodes = new Set([
  1, 6, 7, 43, 50, 89, 91, 175, 189, 237, 262, 9001, 10058, 10107, 11600, 11602, 13435, 13436,
]);

/** Whether a failure is the store's and passes (503), rather than a fault of a query of ours (500). */
export function isStoreAway(error: unknown): boolean {
  if (error instanceof StoreUnavailable || error instanceof MongoNetworkError) return true;
  if (error instanceof MongoSystemError) return true;
  if (error instanceof DOMException) return error.name === 'TimeoutError';
  if (error instanceof MongoServerError)
    return typeof error.code === 'number' && passingCodes.has(error.code);
  return error instanceof MongoError && driverErrors.has(error.name);
}
