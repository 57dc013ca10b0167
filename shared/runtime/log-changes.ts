import { isDeepStrictEqual } from 'node:util';
import type { Logger } from './logger.ts';

/**
 * Returns a function that logs a value at debug level, with the value before, each time that it has changed. The logger
 * redacts a field that is named `state`.
 */
export function logChanges(
  logger: Pick<Logger, 'debug'>,
  message: string,
  fields: object = {},
): (now: object) => void {
  let before: object | null = null;
  return (after) => {
    if (isDeepStrictEqual(before, after)) return;
    logger.debug({ ...fields, before, after }, message);
    before = after;
  };
}
