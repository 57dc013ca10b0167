/** Returns a function that creates the catalogue entries of an error type. */
const errorType =
  <const Type extends string>(type: Type) =>
  (status: number, message: string) => ({ status, type, message });

const authentication = errorType('authentication_error');
const invalidRequest = errorType('invalid_request_error');
const notFound = errorType('not_found');
const validation = errorType('validation_error');
const rateLimit = errorType('rate_limit_error');
const apiFailure = errorType('api_error');

/**
 * Every error that a client can receive. Each message names the cause and the next step.
 * Codes are part of the public contract; messages may change.
 */
export const errorCatalogue = {
  malformed_request: invalidRequest(400, 'The request is not valid HTTP; send it with an HTTP library.'),
  missing_api_key: authentication(
    401,
    'The request has no `Authorization: Bearer <API_KEY>` header; send your API key in this form.',
  ),
  invalid_api_key: authentication(
    401,
    'The API key in the `Authorization` header is malformed, unknown or archived; send the whole key, or create a new one.',
  ),
  https_required: invalidRequest(
    403,
    'The request used plain HTTP; send it over HTTPS, and replace any API key that it contained.',
  ),
  route_not_found: notFound(
    404,
    'The API has no endpoint at this path; compare the path with the reference.',
  ),
  ticket_not_found: notFound(404, 'Your organization has no ticket with the id in the path; check the id.'),
  conversation_not_found: notFound(
    404,
    'Your organization has no conversation with the id in the path, or the conversation is archived; check the id.',
  ),
  channel_not_found: notFound(404, 'Your organization has no channel with the id in the path; check the id.'),
  method_not_allowed: invalidRequest(
    405,
    'The API is read-only; use one of the methods in the `Allow` header.',
  ),
  request_timeout: invalidRequest(408, 'The request was not complete in time; send it again.'),
  uri_too_long: invalidRequest(414, 'The path and query of the request are too long; shorten them.'),
  headers_too_large: invalidRequest(
    431,
    'The headers of the request are too large; send fewer or shorter headers.',
  ),
  invalid_query_parameter: validation(
    422,
    'The query parameter in `param` is not valid; correct or omit it.',
  ),
  invalid_path_parameter: validation(
    422,
    'The id in the path is not an id of this resource; send the id exactly as the API returned it.',
  ),
  invalid_cursor: validation(
    422,
    '`startingAfter` must be the `nextCursor` of a page of this list with the same sort and filters; send that cursor unchanged.',
  ),
  conflicting_date_range: validation(
    422,
    'The request filters by `createdAt` and by `updatedAt`; remove one of these filters.',
  ),
  too_many_requests: rateLimit(
    429,
    'This API key has reached its rate limit; wait for the number of seconds in the `Retry-After` header.',
  ),
  internal_error: apiFailure(
    500,
    'The API failed because of an error on our side; try again, and quote `requestId` if you contact support.',
  ),
  service_unavailable: apiFailure(
    503,
    'The API cannot read the data now; send the request again after the number of seconds in the `Retry-After` header.',
  ),
};

export type ErrorCode = keyof typeof errorCatalogue;
