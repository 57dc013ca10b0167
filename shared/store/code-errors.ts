import { isNativeError } from 'node:util/types';
import { errorChain } from '../runtime/error-message.ts';

/** The names of errors that code throws: of the language, zod, BSON, and the driver before it sends a command. */
const codeErrors = new Set([
  'Error',
  'TypeError',
  'RangeError',
  'SyntaxError',
  'ReferenceError',
  'EvalError',
  'URIError',
  'ZodError',
  'BSONError',
  'BSONOffsetError',
  'BSONRuntimeError',
  'MongoInvalidArgumentError',
]);

/** The codes of zlib and zstd for a lack of memory. The last one: a decompressor cannot be created. */
const memoryErrors = new Set<unknown>([
  'Z_MEM_ERROR',
  'ZSTD_error_memory_allocation',
  'ERR_ZLIB_INITIALIZATION_FAILED',
]);

const isOutOfMemory = (error: Error): boolean =>
  /allocation failed/i.test(error.message) || ('code' in error && memoryErrors.has(error.code));

const abortErrors = new Set<unknown>(['AbortError', 'TimeoutError']);

/**
 * Whether code threw this error because of the record that it worked on. The same record then makes it throw again.
 * Errors of MongoDB, Kafka and the system, a lost partition, a lack of memory and errors with unknown names do not
 * count, because they may pass. A failed assertion does not count either: its invariant is broken for every record,
 * and the projector ends.
 */
export function isCodeError(error: unknown): boolean {
  if (!isNativeError(error)) return !isAbort(error);
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  if (!codeErrors.has(error.name) || isOutOfMemory(error)) return false;
  return !isSystemError(error.name, code) && (cause === undefined || isCodeError(cause));
}

/** The class of an error that comes from no server. */
export function classOfLocalError(error: unknown): 'no-memory' | 'bug' | 'other' {
  if (errorChain(error).some(isOutOfMemory)) return 'no-memory';
  return isCodeError(error) ? 'bug' : 'other';
}

/** An aborted signal throws a `DOMException`, which is not a native error in every runtime. */
const isAbort = (thrown: unknown): boolean =>
  typeof thrown === 'object' && thrown !== null && 'name' in thrown && abortErrors.has(thrown.name);

/**
 * Whether an error comes from a socket, a file or TLS: it then has a code. Node also gives codes that begin with ERR_
 * to its own type and range errors, which are errors of code.
 */
const isSystemError = (name: string, code: unknown): boolean =>
  code !== undefined && !(name !== 'Error' && typeof code === 'string' && code.startsWith('ERR_'));

/** The class of a thrown error. A dead letter names only the class, since a message may quote data. */
export const errorClass = (error: unknown): string => (isNativeError(error) ? error.name : typeof error);

/** The class of an error and its places in the code, without its message, which may quote data. */
export function thrownPlaces(error: unknown): string {
  if (!isNativeError(error)) return errorClass(error);
  const { message, stack = '' } = error;
  const start = stack.indexOf(message);
  const places = start < 0 ? [] : stack.slice(start + message.length).split('\n');
  return [errorClass(error), ...places.filter((line) => /^ +at /.test(line))].join('\n');
}
