import { ApiError } from '../http/api-error.ts';
import type { Middleware } from '../http/context.ts';
import { targetLengthMax } from '../server/request-target.ts';

/** `uri-host [ ":" port ]` of RFC 9110, such as `api.example.com` or `[::1]:8080`. The host may be empty. */
const hostShape = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~%!$&'()*+,;=-]*)(:\d*)?$/;

/**
 * Refuses requests that Node's parser accepts, but that this API does not serve: an overlong target, an unknown
 * `Transfer-Encoding`, a missing or malformed `Host`, and a repeated `Host` or `Authorization`. Of a
 * repeated header, a proxy could check the first value, and the API could use the second.
 */
export const requestLimits: Middleware = (context, next) => {
  const { url = '', headers, rawHeaders, httpVersion } = context.req;
  if (url.length > targetLengthMax) {
    throw new ApiError('uri_too_long', {
      message: `The path and query of the request are longer than ${targetLengthMax} bytes; shorten them.`,
    });
  }
  if (httpVersion === '1.1' && headers.host === undefined) {
    throw new ApiError('malformed_request', {
      message: 'The request has no `Host` header, which HTTP/1.1 requires; send it.',
    });
  }
  const transferEncoding = headers['transfer-encoding'];
  if (transferEncoding !== undefined && transferEncoding.toLowerCase() !== 'chunked') {
    throw new ApiError('malformed_request', {
      message: 'The header `Transfer-Encoding` must be `chunked`; send no body, or a chunked one.',
    });
  }
  // Names and values alternate in `rawHeaders`. In `headers`, Node has already merged or dropped repeated headers.
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  if (names.filter((name) => name === 'authorization').length > 1) {
    throw new ApiError('malformed_request', {
      message: 'The request has the `Authorization` header more than once; send it once.',
    });
  }
  if (names.filter((name) => name === 'host').length > 1 || !hostShape.test(headers.host ?? '')) {
    throw new ApiError('malformed_request', {
      message: 'The header `Host` is repeated or malformed; send one host, with or without a port.',
    });
  }
  return next();
};
