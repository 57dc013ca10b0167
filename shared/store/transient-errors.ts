import {
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoSystemError,
} from 'mongodb';

/** Driver errors that mean a lost or closed connection, or none free in time, besides network errors. */
const driverErrors = new Set([
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoServerClosedError',
  'MongoClientClosedError',
  'MongoExpiredSessionError',
  'MongoOperationTimeoutError',
  'MongoWaitQueueTimeoutError',
]);

/**
 * Server codes that pass: host (6, 7), limits of time (50, 262), lost connections (89, 9001), shutdown and
 * elections (91, 134, 189, 11600, 11602, 10058, 10107, 13435, 13436), a majority that is missing (64, 100),
 * cursors that the store gave up (43, 175, 237).
 */
const serverCodes = new Set([
  6, 7, 43, 50, 64, 89, 91, 100, 134, 175, 189, 237, 262, 9001, 10058, 10107, 11600, 11602, 13435, 13436,
]);

/**
 * What a store that stands before another database answers where that one is away. Of a single write in a bulk,
 * the same code is what it says of a document that it cannot hold.
 */
const internalErrorCode = 1;

/**
 * Whether an error of the MongoDB driver passes by itself: no server, a lost connection, an election, a limit of
 * time. Everything else is a refusal that comes again for the same command: credentials, rights, an index
 * conflict, a document that the store cannot hold.
 */
export function isTransientStoreError(error: unknown): boolean {
  if (error instanceof MongoNetworkError || error instanceof MongoSystemError) return true;
  if (!(error instanceof MongoError)) return false;
  // The write may be durable by now, or become so once a majority is back; it is repeated until that is known.
  if (error.name === 'MongoWriteConcernError' || driverErrors.has(error.name)) return true;
  if (!(error instanceof MongoServerError) || typeof error.code !== 'number') return false;
  if (error.code === internalErrorCode) return !(error instanceof MongoBulkWriteError);
  return serverCodes.has(error.code);
}
