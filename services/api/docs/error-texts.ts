import type { ErrorCode } from '../http/error-catalogue.ts';

/** The text of a code's page besides the catalogue's message; backticks mark code. */
type ErrorText = {
  meaning: string;
  causes: string[];
  /** The next step for the client. */
  remedy: string;
};

/** Every code needs a text; otherwise this does not compile. */
export const errorTexts: Record<ErrorCode, ErrorText> = {
  missing_api_key: {
    meaning: 'The request has no API key, so the API does not know whose data to return.',
    causes: [
      'The header `Authorization` is missing.',
      'The header does not start with `Bearer `: it has another scheme, or only the key.',
      'A proxy or a redirect has removed the header.',
    ],
    remedy:
      'Send `Authorization: Bearer <API_KEY>` with every request. Repeating the same request does not help.',
  },
  invalid_api_key: {
    meaning:
      'The request has a key, but the key is not valid. The response does not say which cause applies.',
    causes: [
      'The key was truncated or changed when it was copied.',
      'The key has been archived or blocked, or belongs to another installation.',
      'The key was created a few seconds ago, and the API does not have it yet.',
    ],
    remedy:
      'Check that you send the whole key. If the key is lost, create a new one in the dashboard. Do not retry in a loop.',
  },
  https_required: {
    meaning: 'The request used plain HTTP. It was refused before anything in it was read, including the key.',
    causes: [
      'The URL starts with `http://`.',
      'A proxy in front of the API terminates TLS, but the API does not trust that proxy.',
    ],
    remedy:
      'Use `https://`. There is no redirect, so that you notice the mistake immediately. Replace any key that was sent over plain HTTP: others may have read it.',
  },
  route_not_found: {
    meaning: 'The path is not in the reference.',
    causes: [
      'The path has a typing error, a trailing slash, or a letter in the wrong case.',
      'The version `/v1` is missing.',
      'The path contains an id with a `/` that is not percent-encoded.',
    ],
    remedy: 'Compare the path with the reference. Repeating the request does not help.',
  },
  ticket_not_found: {
    meaning:
      'Your organization has no ticket with this id. The response is the same for tickets of other organizations.',
    causes: [
      'The ticket has been deleted.',
      'The id is of a ticket of another organization or of the other environment.',
      'The ticket was created after the time in `Data-As-Of`.',
    ],
    remedy:
      'If you have seen the ticket before, treat it as deleted. Otherwise try again when `Data-As-Of` is later than its creation.',
  },
  conversation_not_found: {
    meaning: 'Your organization has no conversation with this id that can be retrieved.',
    causes: [
      'The conversation has been deleted.',
      'The conversation is archived: it still appears in its ticket, but cannot be retrieved by itself.',
      'The conversation belongs to another organization.',
      'The conversation was created after the time in `Data-As-Of`.',
    ],
    remedy:
      'If you have seen the conversation before, treat it as deleted. The messages of an archived conversation can still be listed.',
  },
  channel_not_found: {
    meaning: 'Your organization has no channel with this id. Archived channels can be retrieved.',
    causes: [
      'The channel has been deleted.',
      'The channel belongs to another organization.',
      'The id was changed when it was copied.',
    ],
    remedy: 'List the channels to see which ones exist.',
  },
  malformed_request: {
    meaning: 'The request does not follow the rules of HTTP, so the API cannot interpret it.',
    causes: [
      'The path matches no endpoint and has invalid percent-encoding: a percent sign without two hexadecimal digits, or bytes that are not UTF-8.',
      'An HTTP/1.1 request has no header `Host`.',
      'The client or a proxy does not use HTTP on this connection.',
    ],
    remedy:
      'Let a library build the URL, and encode ids and values with its functions. Repeating the request does not help.',
  },
  method_not_allowed: {
    meaning: 'The API is read-only. It supports `GET`, `HEAD` and `OPTIONS`.',
    causes: ['The request used `POST`, `PUT`, `PATCH` or `DELETE`.'],
    remedy: 'Use `GET`. Make changes in the support application itself, not through this API.',
  },
  request_timeout: {
    meaning: 'The client opened a connection, but its request was not complete in time.',
    causes: ['The network is slow or interrupted.', 'The client opens connections before it needs them.'],
    remedy: 'Send the request again: it was not processed.',
  },
  uri_too_long: {
    meaning: 'The path and query together are too long.',
    causes: [
      'Each new cursor was appended to the URL instead of replacing the previous one.',
      'Parameters were repeated too often.',
    ],
    remedy:
      'Set `startingAfter` to the latest `nextCursor` only. Every request in the reference is far shorter than the limit.',
  },
  headers_too_large: {
    meaning: 'The headers of the request together are too large.',
    causes: [
      'A proxy or a browser adds cookies or tracing headers.',
      'The key was pasted together with other text.',
    ],
    remedy: 'Send only the headers that are needed. The API uses no cookies.',
  },
  invalid_query_parameter: {
    meaning:
      'One parameter is not valid. `error.param` names it, and `error.message` describes the valid values. The API never ignores a parameter.',
    causes: [
      'The value is out of range or not one of the allowed values, such as `limit=500`.',
      'The endpoint does not have this parameter.',
      'A parameter that is allowed once was sent twice.',
      'The URL contains an API key. Send keys in the header `Authorization` only, and replace this key: URLs are often logged on the way.',
    ],
    remedy: 'Correct the parameter that `error.param` names. Repeating the request does not help.',
  },
  invalid_path_parameter: {
    meaning: 'The id in the path does not have the form of ids of this resource, so it was not looked up.',
    causes: [
      'The id is of another resource: ids of tickets start with `ti_`, ids of conversations with `conv_`.',
      'The path contains the placeholder of a template instead of an id.',
      'The id has a percent sign without two hexadecimal digits, or bytes that are not UTF-8.',
    ],
    remedy: 'Use ids exactly as the API returns them. Repeating the request does not help.',
  },
  invalid_cursor: {
    meaning: 'The cursor does not belong to this list with this sort and these filters.',
    causes: [
      'The sort or a filter was changed between two pages.',
      'The cursor is of another list or another organization.',
      'The cursor was truncated, or created by the client.',
    ],
    remedy:
      'Use the same sort and filters as for the page that contained the cursor, or start again without `startingAfter`. Cursors do not expire.',
  },
  conflicting_date_range: {
    meaning:
      'The request filters by both `createdAt` and `updatedAt`. A list can be filtered by only one of them.',
    causes: ['The request has a `createdAt[…]` and an `updatedAt[…]` parameter.'],
    remedy:
      'Filter by the date that matters more, and apply the other filter yourself. For exports, filter by `updatedAt`.',
  },
  too_many_requests: {
    meaning: 'You have reached the rate limit. Other keys of your organization are not affected.',
    causes: [
      'A loop sends requests without a pause, or several processes share one key.',
      'Many requests from one address had invalid keys.',
    ],
    remedy:
      'Wait for the number of seconds in `Retry-After`, then continue. Larger pages (`limit=100`) need fewer requests. `RateLimit-Remaining` says how many requests are left.',
  },
  internal_error: {
    meaning: 'The request was valid, but the service failed to answer it because of an error on our side.',
    causes: ['An error in the service. It was logged with the id of your request.'],
    remedy:
      'Try again after a pause, a few times at most. If the error persists, send the `Request-Id` to support.',
  },
  service_unavailable: {
    meaning:
      'The database behind the API does not answer, or too many requests are in progress. No data is lost.',
    causes: [
      'The database is being restarted or updated, or has an outage.',
      'The load is higher than the database can handle at the moment.',
      'Your organization has many requests in progress, and does not read the responses.',
    ],
    remedy:
      'Wait for the number of seconds in `Retry-After`, then send the request again. If you are reading a list, continue with the same cursor.',
  },
};
