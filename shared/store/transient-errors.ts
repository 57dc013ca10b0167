import { isNativeError } from 'node:util/types';
import { MongoBulkWriteError, MongoError, MongoServerError, MongoServerSelectionError } from 'mongodb';

/**
 * MongoDB's codes for a command that is wrong, and is wrong again when it is repeated. Every other code may pass: an
 * operator interrupts a read, a shard moves, the cache is full, a release adds a code.
 */
const permanentCodes = new Map([
  // A value, an option or a name that MongoDB does not accept.
  [2, 'BadValue'],
  [9, 'FailedToParse'],
  [14, 'TypeMismatch'],
  [15, 'Overflow'],
  [17, 'ProtocolError'],
  [20, 'IllegalOperation'],
  [22, 'InvalidBSON'],
  [72, 'InvalidOptions'],
  [73, 'InvalidNamespace'],
  [357, 'InvalidBSONType'],
  [378, 'NonConformantBSON'],
  // A command, a stage or a field that this server does not know.
  [59, 'CommandNotFound'],
  [115, 'CommandNotSupported'],
  [168, 'InvalidPipelineOperator'],
  [238, 'NotImplemented'],
  [322, 'APIVersionError'],
  [323, 'APIStrictError'],
  [324, 'APIDeprecationError'],
  [40_324, 'unrecognized pipeline stage'],
  [40_413, 'IDLDuplicateField'],
  [40_414, 'IDLFailedToParse'],
  [40_415, 'IDLUnknownField'],
  // An update that no document allows.
  [28, 'PathNotViable'],
  [40, 'ConflictingUpdateOperators'],
  [52, 'DollarPrefixedFieldName'],
  [54, 'NotSingleValueField'],
  [56, 'EmptyFieldName'],
  [57, 'DottedFieldName'],
  [66, 'ImmutableField'],
  // A document that a rule, an index or a limit of MongoDB forbids.
  [121, 'DocumentValidationFailure'],
  [171, 'CannotIndexParallelArrays'],
  [10_003, 'CannotGrowDocumentInCappedNamespace'],
  [10_334, 'BSONObjectTooLarge'],
  [11_000, 'DuplicateKey'],
  [510, 'GeoKeyExtractionFailed'],
  [511, 'GeoKeyExtractionFailedTimeseries'],
  [16_755, 'a geographical index cannot hold the value: before MongoDB 9.0'],
  [16_766, 'a hashed index cannot hold a list'],
  [17_262, 'a text index does not know the language'],
  [17_280, 'KeyTooLong'],
  [17_419, 'an update makes the document too large'],
  [17_420, 'an update makes the document too large'],
  // An index that differs from the stored one.
  [67, 'CannotCreateIndex'],
  [85, 'IndexOptionsConflict'],
  [86, 'IndexKeySpecsConflict'],
  [197, 'InvalidIndexSpecificationOption'],
  // A mechanism that no user of this server has.
  [334, 'MechanismUnavailable'],
]);

/** Codes of MongoDB for a user that it does not admit or permit: Unauthorized, AuthenticationFailed, Atlas's own. */
const userCodes = new Set([13, 18, 8_000]);

/** MongoDB's code for a member that is not the primary. */
export const notPrimaryCode = 10_107;

/** Codes of a member that is not the primary, or stops being it: MongoDB elects one, or the member is the wrong one. */
const notPrimaryCodes = new Set([notPrimaryCode, 13_435, 13_436, 189, 11_602, 91, 11_600, 10_058]);

/** Codes of a store that sheds load: full queues, limits of its rate, of its connections or of its search servers. */
const overloadCodes = new Set([433, 449, 450, 462, 463, 473]);

/** Labels that say that a command may be repeated, whatever its code. */
const transientLabels = ['RetryableError', 'RetryableWriteError', 'SystemOverloadedError'];

/** Errors of the driver for a wrong use of it, or for a wrong connection string. Its other errors may pass. */
const permanentDriverErrors = new Set([
  'MongoInvalidArgumentError',
  'MongoParseError',
  'MongoMissingCredentialsError',
  'MongoMissingDependencyError',
  'MongoCompatibilityError',
  'MongoTransactionError',
  'MongoBatchReExecutionError',
  'MongoCursorInUseError',
  'MongoCursorExhaustedError',
  'MongoTailableCursorError',
]);

/**
 * Errors of Node's socket: the driver passes them on as they are if the connection is lost while it writes a command.
 */
const socketCodes = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Node's calls that look a name up. The driver passes on their errors for a `mongodb+srv` address as they are. */
const lookUpCalls = /^(?:query[A-Z]|getaddrinfo$)/;

/**
 * The error that ended a bulk write: the driver wraps it, and calls it the response. Any other error is its own cause.
 */
export const causeOfBulk = (error: unknown): unknown =>
  error instanceof MongoBulkWriteError && isNativeError(error.errorResponse) ? error.errorResponse : error;

/**
 * Whether an error of the MongoDB driver is transient: no server, a lost connection, a failed look-up of its name, and
 * every answer that is neither a refusal of the user nor known to be the answer to a wrong command.
 */
export function isTransientStoreError(thrown: unknown): boolean {
  const error = causeOfBulk(thrown);
  if (!(error instanceof MongoError)) return isNetworkError(error);
  if (!(error instanceof MongoServerError)) return !permanentDriverErrors.has(error.name);
  // The write may be durable already, or become durable once a majority is back. The caller retries until it knows.
  if (error.name === 'MongoWriteConcernError') return true;
  if (error instanceof MongoBulkWriteError && error.result.getWriteConcernError()) return true;
  if (transientLabels.some((label) => error.hasErrorLabel(label))) return true;
  return !permanentCodes.has(Number(error.code)) && !isUserRefusal(error);
}

/** Also of a file that MONGODB_URL names, which the driver opens to connect: it may just be replaced. */
function isNetworkError(error: unknown): boolean {
  if (!isNativeError(error)) return false;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  return socketCodes.has(String(code)) || lookUpCalls.test(String(syscall)) || syscall === 'open';
}

/** Whether MongoDB answers, but refuses this user. Old connections refuse a user that was created again. */
export const isUserRefusal = (error: unknown): boolean =>
  error instanceof MongoServerError && userCodes.has(Number(error.code));

/** Whether a rule of the collection, which an operator has made, refuses what the services write. */
export const isValidatorRefusal = (error: unknown): boolean =>
  error instanceof MongoServerError && Number(error.code) === 121;

/** Whether a member answers that it is not the primary, or is just stepping down or stopping. */
export const isNotPrimary = (error: unknown): boolean =>
  error instanceof MongoServerError && notPrimaryCodes.has(Number(error.code));

/** Whether MongoDB has a primary, but no member that the options of the connection string select for a read. */
export function lacksPreferredMember(error: unknown): boolean {
  if (!(error instanceof MongoServerSelectionError)) return false;
  return [...(error.reason?.servers.values() ?? [])].some(({ type }) => type === 'RSPrimary');
}

/**
 * The name of the replica set that the connection string asks for, if every server has answered that it is a member of
 * another one, or of none: the driver then forgets it. Null for any other error.
 */
export function foreignReplicaSet(error: unknown): string | null {
  const topology = error instanceof MongoServerSelectionError ? error.reason : undefined;
  return topology?.setName && topology.servers.size === 0 ? topology.setName : null;
}

/**
 * Whether MongoDB asks its clients to come back later, because it has too much to do. Only its own answers count: the
 * driver gives the same label to a connection that could not be opened.
 */
export function isOverload(thrown: unknown): boolean {
  const error = causeOfBulk(thrown);
  if (!(error instanceof MongoServerError)) return false;
  return error.hasErrorLabel('SystemOverloadedError') || overloadCodes.has(Number(error.code));
}

/** The first pause while MongoDB is overloaded, and the longest, in milliseconds. */
const overloadPauseMs = { first: 500, max: 30_000 };

/**
 * The pause after a failed attempt, in milliseconds: `usualMs`, or a longer one while MongoDB is overloaded. The longer
 * one doubles with each attempt, from 1 on, and is up to half shorter by chance, so that clients do not come back
 * together.
 */
export function retryPauseMs(error: unknown, attempt: number, usualMs: number): number {
  if (!isOverload(error)) return usualMs;
  const longest = Math.min(overloadPauseMs.first * 2 ** attempt, overloadPauseMs.max);
  return Math.max(usualMs, longest * (1 - Math.random() / 2));
}
