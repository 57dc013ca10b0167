import { createRequire } from 'node:module';

const { createErrorFromCode } = createRequire(import.meta.url)('kafkajs/src/protocol/error') as {
  createErrorFromCode: (code: number) => Error & { retriable: boolean };
};

/** Throws the error of a response, such as a missing permission, unless it may pass by itself. 0 is no error. */
export function throwUnlessRetriable(errorCode: number): void {
  const error = errorCode === 0 ? null : createErrorFromCode(errorCode);
  if (error && !error.retriable) throw error;
}
