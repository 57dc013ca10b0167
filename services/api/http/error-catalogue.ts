const category =
  <const Type extends string>(type: Type) =>
  (status: number, message: string) => ({ status, type, message });

const authentication = category('authentication_error');
const request = category('invalid_request_error');
const notFound = category('not_found');
const validation = category('validation_error');
const rateLimit = category('rate_limit_error');
const api = category('api_error');

/**
 * Every error that a client can receive: its status, category and text. Codes are part of the public contract; texts
 * are for people and may change.
 */
export const errorCatalogue = {
  missing_api_key: authentication(401, 'Send your API key in the header `Authorization: Bearer <API_KEY>`.'),
  invalid_api_key: authentication(401, 'The API key is malformed, unknown or archived.'),
  https_required: request(
    403,
    'Plain HTTP is not served; repeat the request over HTTPS, and replace any API key that was sent unencrypted.',
  ),
  route_not_found: notFound(404, 'There is nothing at this path.'),
  ticket_not_found: notFound(404, 'There is no such ticket.'),
  conversation_not_found: notFound(404, 'There is no such conversation.'),
  channel_not_found: notFound(404, 'There is no such channel.'),
  malformed_request: request(400, 'The request is not well-formed HTTP.'),
  method_not_allowed: request(
    405,
    'This API is read-only; the header Allow names the methods that are served here.',
  ),
  request_timeout: request(408, 'The request did not arrive in time.'),
  uri_too_long: request(414, 'The request target is too long.'),
  headers_too_large: request(431, 'The request headers are too large.'),
  invalid_query_parameter: validation(422, 'A query parameter is not valid.'),
  invalid_path_parameter: validation(422, 'The id in the path is not a valid id of this resource.'),
  invalid_cursor: validation(
    422,
    '`startingAfter` must be the `nextCursor` of a previous page of this list, with the same sort and filters.',
  ),
  conflicting_date_range: validation(422, 'Filter by either `createdAt` or `updatedAt`, not by both.'),
  too_many_requests: rateLimit(
    429,
    'Too many requests with this API key; wait as long as the header Retry-After says.',
  ),
  internal_error: api(500, 'Something failed on our side; quote the request id when you contact support.'),
  service_unavailable: api(503, 'The data cannot be read at the moment; try again shortly.'),
};

export type ErrorCode = keyof typeof errorCatalogue;
