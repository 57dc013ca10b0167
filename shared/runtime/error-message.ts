import { isNativeError } from 'node:util/types';

/** The message of an error, or the text of anything else that was thrown. */
export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** The error and its causes, outermost first. kafkajs wraps an error when it gives up its retries. */
export const errorChain = (error: unknown): Error[] =>
  isNativeError(error) ? [error, ...errorChain(error.cause)] : [];
