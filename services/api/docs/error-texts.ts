import type { ErrorCode } from '../http/error-catalogue.ts';

/** What the page of a code says beyond the catalogue's message; `…` marks code. */
export type ErrorText = {
  meaning: string;
  causes: string[];
  /** What the client should do. */
  remedy: string;
};

/** A code without a text does not compile. */
export const errorTexts: Record<ErrorCode, ErrorText> = {
  missing_api_key: {
    meaning: "The request says nothing of who is asking, so nothing of anyone's data can be shown.",
    causes: [
      'The header `Authorization` is absent.',
      'It does not begin with `Bearer `: another scheme, or the bare key.',
      'A proxy or a redirect on the way has dropped the header.',
    ],
    remedy:
      'Send `Authorization: Bearer <API_KEY>` with every request. Repeating the request unchanged does not help.',
  },
  invalid_api_key: {
    meaning: 'A key was sent, and it opens nothing. Which of the causes it is, is not told.',
    causes: [
      'The key was cut or altered when it was copied.',
      'The key has been archived, or belongs to another installation.',
      'The key was created seconds ago and is not known here yet.',
    ],
    remedy:
      'Check that the whole key is sent; create another one in the dashboard if it is lost. Do not retry in a loop.',
  },
  https_required: {
    meaning: 'The request came over plain HTTP. Nothing in it was looked at; the key was not even looked up.',
    causes: [
      'The address begins with `http://`.',
      'A proxy in front of the API ends TLS and is not among those that the API trusts.',
    ],
    remedy:
      'Use `https://`. There is no redirect, so that the mistake shows at once. Replace a key that travelled in clear: others may have read it.',
  },
  route_not_found: {
    meaning: 'The path is none of those that the reference lists.',
    causes: [
      'A typing error, a trailing slash, or a letter in the wrong case.',
      'The version `/v1` is missing.',
      'An id with a `/` in it was put into the path without percent-encoding.',
    ],
    remedy: 'Compare the path with the reference. Repeating the request does not help.',
  },
  ticket_not_found: {
    meaning:
      'For this key there is no ticket of this id. One of another organization is answered the same way.',
    causes: [
      'The ticket has been deleted.',
      "The id is of another organization's ticket, or of the other environment.",
      'The ticket was created after the instant in `Data-As-Of`.',
    ],
    remedy:
      'Treat the ticket as gone if you had seen it before; else ask again once `Data-As-Of` has passed its creation.',
  },
  conversation_not_found: {
    meaning: 'For this key there is no conversation of this id.',
    causes: [
      'The conversation has been deleted.',
      'It is archived: it is then shown within its ticket, and no longer by itself.',
      'It belongs to another organization.',
      'It was created after the instant in `Data-As-Of`.',
    ],
    remedy:
      'Treat the conversation as gone if you had seen it before. An archived one keeps its page of messages.',
  },
  channel_not_found: {
    meaning: 'For this key there is no channel of this id. Archived channels are found.',
    causes: [
      'The channel has been deleted.',
      'It belongs to another organization.',
      'The id was altered when it was copied.',
    ],
    remedy: 'List the channels to see which there are.',
  },
  malformed_request: {
    meaning: 'What arrived breaks the rules of HTTP, so that it cannot be told what was asked for.',
    causes: [
      'A percent sign in a path that is of no endpoint, not followed by two hexadecimal digits, or bytes there that are not UTF-8.',
      'A request of HTTP/1.1 without the header `Host`.',
      'A client or proxy that does not speak HTTP on this connection.',
    ],
    remedy:
      'Have a library build the address; encode ids and values with its own function. Repeating the request does not help.',
  },
  method_not_allowed: {
    meaning: 'The API is read-only. It serves `GET`, `HEAD` and `OPTIONS`.',
    causes: ['A `POST`, `PUT`, `PATCH` or `DELETE`.'],
    remedy: 'Use `GET`. Changes are made in the product, not here.',
  },
  request_timeout: {
    meaning: 'The connection was opened, and the request on it did not become complete in time.',
    causes: ['A slow or broken network.', 'A client that opens connections before it has something to ask.'],
    remedy: 'Send the request again: it has not been carried out.',
  },
  uri_too_long: {
    meaning: 'The path and query together are longer than is read.',
    causes: [
      'A cursor that was appended again and again instead of replaced.',
      'Parameters repeated without end.',
    ],
    remedy:
      'Set `startingAfter` to the latest `nextCursor` alone. Every request that the reference allows is far shorter.',
  },
  headers_too_large: {
    meaning: 'The headers of the request together are larger than is read.',
    causes: [
      'Cookies or tracing headers that a proxy or a browser adds.',
      'A key pasted together with other text.',
    ],
    remedy: 'Send only the headers that are needed. No cookies are used here.',
  },
  invalid_query_parameter: {
    meaning:
      'One parameter was refused; `error.param` names it and `error.message` says what it must be. No parameter is ever ignored.',
    causes: [
      'The value is out of bounds or not one of those allowed, such as `limit=500`.',
      'The endpoint does not have this parameter.',
      'A parameter that may be given once was given twice.',
      'A key was put into the address; it belongs in the header `Authorization` alone. Replace it: addresses are logged on the way.',
    ],
    remedy: 'Correct the parameter that `error.param` names. Repeating the request does not help.',
  },
  invalid_path_parameter: {
    meaning: 'The id cannot be one of this resource, so that it was not even looked for.',
    causes: [
      "The id is of another resource: a ticket's begins with `ti_`, a conversation's with `conv_`.",
      'The placeholder of a template was sent as it is.',
      'The id has a percent sign that is not followed by two hexadecimal digits, or bytes that are not UTF-8.',
    ],
    remedy: 'Use ids as the API gives them, unaltered. Repeating the request does not help.',
  },
  invalid_cursor: {
    meaning: 'The cursor is not one that this list has given, with this sort and these filters.',
    causes: [
      'The sort or a filter was changed between two pages.',
      'The cursor is of another list or another organization.',
      'The cursor was cut, or made by the client.',
    ],
    remedy:
      'Send the same sort and filters as for the page that the cursor came from; else begin the walk anew without `startingAfter`. Cursors do not expire.',
  },
  conflicting_date_range: {
    meaning:
      'Bounds on `createdAt` and on `updatedAt` were given together; a list is bounded on one of them.',
    causes: ['A `createdAt[…]` and an `updatedAt[…]` parameter in one request.'],
    remedy: 'Bound the one that matters and filter the other on your side. For an export bound `updatedAt`.',
  },
  too_many_requests: {
    meaning: "The limit of requests has been reached. Others of your organization's keys are not affected.",
    causes: [
      'Requests in a loop without a pause, or several processes that share one key.',
      'Many requests with keys that are not valid, from one address.',
    ],
    remedy:
      'Wait for as many seconds as `Retry-After` says, then go on. Larger pages (`limit=100`) need fewer requests. `RateLimit-Remaining` shows what is left.',
  },
  internal_error: {
    meaning: 'The request was understood and could not be answered, by a fault in the service.',
    causes: ['A fault in the service. It has been logged under the id of the request.'],
    remedy: 'Try again after a pause, a few times at most. If it stays, tell support the `Request-Id`.',
  },
  service_unavailable: {
    meaning: 'The store behind the API does not answer, or too many requests are under way. Nothing is lost.',
    causes: [
      'A restart, an update or an outage of the store.',
      'More load than the store can take at the moment.',
      'Many requests of your organization at once whose answers are not read.',
    ],
    remedy:
      'Wait for as many seconds as `Retry-After` says and send the request again; a walk goes on from the same cursor.',
  },
};
