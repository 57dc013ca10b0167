import { isDeepStrictEqual } from 'node:util';
import type { Logger } from './logger.ts';

/**
 * Returns a function that logs a value, with the previous one, at debug level if it has changed since the last call. Do
 * not name a field `state`, because the logger redacts it.
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
