import { isNativeError } from 'node:util/types';

/** The codes of zlib and zstd, the last for a decompressor that cannot be created. */
const memoryErrors = new Set<unknown>([
  'Z_MEM_ERROR',
  'ZSTD_error_memory_allocation',
  'ERR_ZLIB_INITIALIZATION_FAILED',
]);

/** Whether the process is at its limits, whatever it works on: later there may be memory. */
export const isOutOfMemory = (error: unknown): boolean =>
  isNativeError(error) &&
  (/allocation failed/i.test(error.message) || ('code' in error && memoryErrors.has(error.code)));
