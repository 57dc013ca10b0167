import { ApiError } from './api-error.ts';
import type { Step } from './request-state.ts';

/** The longest request target, in bytes; beyond it the answer is 414. */
export const targetLengthMax = 8_192;

/** What Node's parser lets through and this API does not: overlong targets, HTTP/1.1 without a host. */
export const wellFormed: Step = (context, next) => {
  const { url = '', headers, httpVersion } = context.req;
  if (url.length > targetLengthMax) {
    throw new ApiError('uri_too_long', {
      message: `The request target is longer than ${targetLengthMax} bytes.`,
    });
  }
  if (httpVersion === '1.1' && headers.host === undefined) {
    throw new ApiError('malformed_request', { message: 'HTTP/1.1 requires the header Host.' });
  }
  return next();
};
