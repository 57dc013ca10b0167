import { isNativeError } from 'node:util/types';
import {
  MongoBulkWriteError,
  MongoError,
  MongoServerError,
  MongoServerSelectionError,
  type TopologyDescription,
} from 'mongodb';
import { errorChain, errorMessage } from '../runtime/error-message.ts';
import { classOfLocalError } from './code-errors.ts';
import { asClass, certificateError, type Classified, classifyChain } from './error-classes.ts';
import { storeCodes } from './error-codes.ts';

/** Labels that allow a retry of a command with any code. */
const transientLabels = ['RetryableError', 'RetryableWriteError', 'SystemOverloadedError'];

/** Errors of the driver for a wrong use of it, or for a wrong connection string. Its other errors may pass. */
const permanentDriverErrors = new Set([
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

const certificateFix =
  "Check tlsCAFile (or NODE_EXTRA_CA_CERTS) and tlsCertificateKeyFile in MONGODB_URL against MongoDB's certificates, " +
  'which may have been renewed';

const otherReplicaSetFix = (name: string) =>
  `No server that MONGODB_URL names is a member of a replica set ${name}: check replicaSet in MONGODB_URL against the ` +
  'set of rs.status(), or leave it out for a server without a replica set';

const noPreferredMemberFix =
  'MongoDB has a primary, but no member that readPreference, readPreferenceTags and maxStalenessSeconds in MONGODB_URL ' +
  'select: start such members, or change these options';

/**
 * The error that ended a bulk write: the driver wraps it, and calls it the response. Any other error is its own cause.
 */
export const causeOfBulk = (error: unknown): unknown =>
  error instanceof MongoBulkWriteError && isNativeError(error.errorResponse) ? error.errorResponse : error;

/** Classifies an error of work on MongoDB, and of the code around it. */
export const classifyStoreError = (error: unknown): Classified =>
  classifyChain(chainOf(error), classifyOne) ?? asClass(classOfLocalError(error));

/**
 * The error and its causes, up to a failed selection of a server: its cause is the error of any one server, and
 * `classifySelectionError` classifies the errors of all.
 */
function chainOf(error: unknown): Error[] {
  const chain = errorChain(error);
  const selection = chain.findIndex((cause) => cause instanceof MongoServerSelectionError);
  return selection < 0 ? chain : chain.slice(0, selection + 1);
}

/** The class of an error of MongoDB, its driver or a socket, without its causes; null for any other error. */
export function classifyOne(thrown: Error): Classified | null {
  const error = causeOfBulk(thrown);
  if (error instanceof MongoServerSelectionError) return classifySelectionError(error.reason);
  if (error instanceof MongoServerError) return classifyAnswer(error);
  // A wrong argument is a bug of this program, which `classOfLocalError` finds.
  if (error instanceof MongoError && error.name !== 'MongoInvalidArgumentError')
    return asClass(permanentDriverErrors.has(error.name) ? 'wrong-command' : 'transient');
  if (!isNativeError(error)) return null;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  // `open` is an error of a file that MONGODB_URL names: the driver opens it to connect, while it may be replaced.
  const isOfNetwork =
    socketCodes.has(String(code)) || lookUpCalls.test(String(syscall)) || syscall === 'open';
  return isOfNetwork ? asClass('transient') : certificateError(error, certificateFix);
}

/** Classifies the error that no server could be used, by the errors of the servers that have answered. */
function classifySelectionError(topology: TopologyDescription | undefined): Classified {
  const servers = [...(topology?.servers?.values() ?? [])];
  // The driver forgets a server that answers as a member of another replica set, or of no set: here, every server.
  if (topology?.setName && servers.length === 0)
    return asClass('refuses-connection', otherReplicaSetFix(topology.setName));
  const answers = servers.flatMap((server) => errorChain(server.error).map(classifyOne));
  const refusal = answers.find(
    (found) => found?.errorClass === 'unauthorized' || found?.errorClass === 'refuses-connection',
  );
  // The user may be created, or the certificate renewed, while the driver asks again.
  if (refusal) return asClass('refuses-connection', refusal.fix);
  const hasPrimary = servers.some(({ type }) => type === 'RSPrimary');
  return asClass('transient', hasPrimary ? noPreferredMemberFix : null);
}

/**
 * Classifies an error that MongoDB has returned. Only MongoDB's own errors report an overload, because the driver gives
 * the same label to a connection that could not be opened.
 */
function classifyAnswer(error: MongoServerError): Classified {
  if (error.hasErrorLabel('SystemOverloadedError')) return asClass('overloaded');
  // The write may be durable already, or become durable once a majority is back. The caller retries until it knows.
  if (isUnconfirmed(error)) return asClass('transient');
  const entry = storeCodes.get(Number(error.code));
  if (!entry) return asClass('transient');
  const isPermanent = entry.errorClass === 'wrong-command' || entry.errorClass === 'refuses-document';
  if (isPermanent && mayBeRepeated(error)) return asClass('transient');
  return asClass(entry.errorClass, entry.fix);
}

/** Whether MongoDB has made a write, but not confirmed that a majority has it. */
const isUnconfirmed = (error: MongoServerError): boolean =>
  error.name === 'MongoWriteConcernError' ||
  (error instanceof MongoBulkWriteError && error.result.getWriteConcernError() !== undefined);

const mayBeRepeated = (error: MongoServerError): boolean =>
  transientLabels.some((label) => error.hasErrorLabel(label));

/** The message of an error of MongoDB, with its fix if one is known. */
export const explainedStoreError = (error: unknown): string =>
  messageWithFix(errorMessage(error), classifyStoreError(error).fix);

/** A message with a fix, unless the message already contains the fix. */
export const messageWithFix = (message: string, fix: string | null): string =>
  fix === null || message.includes(fix) ? message : `${message}. ${fix}`;

/** The first pause while MongoDB is overloaded, and the longest, in milliseconds. */
const overloadPauseMs = { first: 500, max: 30_000 };

/**
 * The pause after a failed attempt, in milliseconds: `usualMs`, or a longer one while MongoDB is overloaded. The longer
 * one doubles with each attempt, from 1 on, and is up to half shorter by chance. Otherwise all clients would come back
 * together.
 */
export function retryPauseMs(error: unknown, attempt: number, usualMs: number): number {
  if (classifyStoreError(error).errorClass !== 'overloaded') return usualMs;
  const longest = Math.min(overloadPauseMs.first * 2 ** attempt, overloadPauseMs.max);
  return Math.max(usualMs, longest * (1 - Math.random() / 2));
}
