/**
 * Every error that a client can receive: its status, category and text. Codes are part of the public contract; texts are
 * for people and may change.
 */
export const errorCatalogue = {
  missing_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'Send your API key in the header `Authorization: Bearer <API_KEY>`.',
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'The API key is malformed, unknown or archived.',
  },
  https_required: {
    status: 403,
    type: 'invalid_request_error',
    message:
      'Plain HTTP is not served; repeat the request over HTTPS, and replace any API key that was sent unencrypted.',
  },
  route_not_found: { status: 404, type: 'not_found', message: 'There is nothing at this path.' },
  ticket_not_found: { status: 404, type: 'not_found', message: 'There is no such ticket.' },
  conversation_not_found: { status: 404, type: 'not_found', message: 'There is no such conversation.' },
  channel_not_found: { status: 404, type: 'not_found', message: 'There is no such channel.' },
  malformed_request: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The request is not well-formed HTTP.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    message: 'This API is read-only; the header Allow names the methods that are served here.',
  },
  request_timeout: {
    status: 408,
    type: 'invalid_request_error',
    message: 'The request did not arrive in time.',
  },
  uri_too_long: { status: 414, type: 'invalid_request_error', message: 'The request target is too long.' },
  headers_too_large: {
    status: 431,
    type: 'invalid_request_error',
    message: 'The request headers are too large.',
  },
  invalid_query_parameter: {
    status: 422,
    type: 'validation_error',
    message: 'A query parameter is not valid.',
  },
  invalid_path_parameter: {
    status: 422,
    type: 'validation_error',
    message: 'The id in the path is not a valid id of this resource.',
  },
  invalid_cursor: {
    status: 422,
    type: 'validation_error',
    message:
      '`startingAfter` must be the `nextCursor` of a previous page of this list, with the same sort and filters.',
  },
  conflicting_date_range: {
    status: 422,
    type: 'validation_error',
    message: 'Filter by either `createdAt` or `updatedAt`, not by both.',
  },
  too_many_requests: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many requests with this API key; wait as long as the header Retry-After says.',
  },
  internal_error: {
    status: 500,
    type: 'api_error',
    message: 'Something failed on our side; quote the request id when you contact support.',
  },
  service_unavailable: {
    status: 503,
    type: 'api_error',
    message: 'The data cannot be read at the moment; try again shortly.',
  },
} as const satisfies Record<string, { status: number; type: ErrorType; message: string }>;

export type ErrorType =
  | 'authentication_error'
  | 'invalid_request_error'
  | 'not_found'
  | 'validation_error'
  | 'rate_limit_error'
  | 'api_error';

export type ErrorCode = keyof typeof errorCatalogue;
