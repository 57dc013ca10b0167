import { isNativeError } from 'node:util/types';
import {
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoSystemError,
} from 'mongodb';
import { hasLostDatabase } from './stand-in-errors.ts';

/** Driver errors, besides network errors, for a lost or closed connection, or no free connection in time. */
const driverErrors = new Set([
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoServerClosedError',
  'MongoClientClosedError',
  'MongoExpiredSessionError',
  'MongoOperationTimeoutError',
  'MongoWaitQueueTimeoutError',
  'MongoPoolClosedError',
]);

/** Errors of Node's socket: the driver passes them on as they are if the connection is lost while it writes a command. */
const socketCodes = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

/**
 * Transient server codes: host not reachable (6, 7), time limits (50, 262), lost connections (89, 9001), shutdown and
 * elections (91, 133, 134, 189, 11600, 11602, 10058, 10107, 13435, 13436), a missing majority (64, 100), cursors that the
 * server closed (43, 175, 237).
 */
const serverCodes = new Set([
  6, 7, 43, 50, 64, 89, 91, 100, 133, 134, 175, 189, 237, 262, 9001, 10058, 10107, 11600, 11602, 13435, 13436,
]);

/** The error that ended a bulk write: the driver wraps it, and calls it the response. Any other error is its own cause. */
export const causeOfBulk = (error: unknown): unknown =>
  error instanceof MongoBulkWriteError && isNativeError(error.errorResponse) ? error.errorResponse : error;

/**
 * Whether an error of the MongoDB driver is transient: no server, a lost connection, an election, a time limit. Every
 * other error repeats for the same command: credentials, permissions, an index conflict, a document that cannot be
 * stored.
 */
export function isTransientStoreError(thrown: unknown): boolean {
  const error = causeOfBulk(thrown);
  if (error instanceof MongoNetworkError || error instanceof MongoSystemError) return true;
  if (!(error instanceof MongoError))
    return isNativeError(error) && 'code' in error && socketCodes.has(String(error.code));
  // The write may be durable already, or become durable once a majority is back. The caller retries until it knows.
  if (error.name === 'MongoWriteConcernError' || driverErrors.has(error.name)) return true;
  if (error instanceof MongoBulkWriteError && error.result.getWriteConcernError()) return true;
  if (!(error instanceof MongoServerError)) return false;
  return serverCodes.has(Number(error.code)) || hasLostDatabase(error);
}
