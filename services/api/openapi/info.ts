import { idLengthMax } from '../../../shared/documents/fields.ts';
import type { ApiConfig } from '../config.ts';
import type { BaseUrl } from '../http/error-envelope.ts';
import { rateLimitOf } from '../rate-limit/rate-limit-settings.ts';
import type { RateLimit } from '../rate-limit/rate-limiter.ts';
import { readTimeoutMs } from '../store/deadline.ts';
import type { Tag } from './types.ts';

/** The settings that pages and the OpenAPI document contain. */
export type PageSettings = {
  /** The public address of the service; undefined if it is not set. */
  baseUrl: BaseUrl;
  /** API keys begin with it, then `_live_` or `_test_`. */
  keyPrefix: string;
  /** Name of the typed client. */
  clientPackage: string;
};

/** The settings that the OpenAPI document contains. */
export type SpecSettings = PageSettings & {
  /** The limit of each key without one of its own. */
  limit: RateLimit;
  /** Requests that a key may have in progress while the service has capacity: half of its organization's quarter. */
  inProgressMax: number;
  /** How long a request can be traced; null if requests are not traced. */
  traceDays: number | null;
};

export const specSettings = (config: ApiConfig): SpecSettings => ({
  baseUrl: config.API_BASE_URL,
  keyPrefix: config.KEY_PREFIX,
  clientPackage: config.CLIENT_PACKAGE,
  limit: rateLimitOf(config),
  inProgressMax: Math.max(1, Math.floor(config.API_REQUESTS_MAX / 8)),
  traceDays: config.REQUEST_TRACE_DAYS === 0 ? null : config.REQUEST_TRACE_DAYS,
});

/** The introduction of the OpenAPI document, in Markdown. */
export const description = ({ keyPrefix, limit, inProgressMax }: SpecSettings): string => `\
Read access to the support data of an organization: tickets, conversations, messages, channels and the Q&As of
its knowledge base.

## Conventions

- Use HTTPS. The API answers requests over plain HTTP with 403 \`https_required\`, and never redirects them.
- Bodies are JSON in UTF-8. Field names are in camelCase. A field without a value is null. The description of a field
  that can be absent instead says so.
- Times are ISO 8601 in UTC with a trailing \`Z\`: in milliseconds for channels and Q&As, in seconds everywhere else.
- Ids are opaque strings of at most ${idLengthMax} characters. Most have a prefix, such as \`ti_\`.
- Endpoints below \`/v1\` reject unknown query parameters and invalid values with 422 \`invalid_query_parameter\`;
  \`error.param\` names the parameter. \`/health\` and \`/openapi.json\` ignore query parameters.
- Every endpoint supports \`GET\`, \`HEAD\` (the same headers without the body) and \`OPTIONS\` (204 with \`Allow\`). Any
  other method returns 405. A path that is not in this document returns 404 \`route_not_found\`.
- A release may add fields and values of fields: ignore those that you do not know. The guide at
  \`/docs/guides/versioning\` lists the changes that may come without notice, and those that do not.
- Responses have an \`ETag\`. If you send it as \`If-None-Match\` and the response is unchanged, you get 304 without a body.

## Authentication

Send the API key only in the header \`Authorization: Bearer ${keyPrefix}_live_…\`. Keys begin with
\`${keyPrefix}_live_\` or \`${keyPrefix}_test_\`, belong to one organization, and give access to its data only. An
archived key stops working at most 5 seconds after \`Data-As-Of\` has passed the time at which it was archived.

## Pages

To read a list, repeat the request with the \`nextCursor\` of the previous page as \`startingAfter\`, until \`hasMore\` is
false. The \`Link\` header contains the URL of the next page. An item that does not change while you read the list appears
exactly once. A cursor is valid for one list, with one sort and one set of filters.

## Freshness

A response contains every change up to the time in its \`Data-As-Of\` header. The guide at \`/docs/guides/exports\` shows how to
keep a complete copy of the data by fetching only changes.

## Errors

The HTTP status shows whether a request failed. The body of an error is always \`{"error": {…}}\`: branch on
\`error.code\`. Every response has a \`Request-Id\`, which an error repeats as \`error.requestId\`. A 503 means that the API
cannot read the data now, or that a read took longer than ${readTimeoutMs / 1_000} seconds: wait for the number of seconds in
\`Retry-After\`, and try again.

## Rate limit

${rateLimit(limit)}

A key may have at most ${inProgressMax} requests in progress at the same time, and its organization twice as many. The limits
are lower while the service is busy. A request is in progress until you have read its response. Above the limit, a request
gets 429 \`too_many_requests\` with \`Retry-After: 1\`, and does not count against the window.
`;

const rateLimit = ({ requests, windowSeconds }: RateLimit): string =>
  requests === 0
    ? `Requests are not limited, unless the key has its own limit. The \`RateLimit-…\` headers then show this limit, and
requests above it get 429 \`too_many_requests\`.`
    : `A key may make ${requests} requests in any ${windowSeconds} seconds, or as many as its own limit allows. Above the limit,
a request gets 429 \`too_many_requests\`: wait for the number of seconds in \`Retry-After\`. The headers \`RateLimit-Limit\`,
\`RateLimit-Remaining\` and \`RateLimit-Reset\` show the limit and the use of the key. \`RateLimit-Policy\` contains the limit
and its window in seconds. A 304 counts like any other response.`;

export const tags: Tag[] = [
  {
    name: 'Tickets',
    description: 'Cases. Each has at most one primary conversation and any number of side conversations.',
  },
  { name: 'Conversations', description: 'Threads of messages, each with one contact.' },
  { name: 'Channels', description: 'Chat widgets, email inboxes and forms, with their current status.' },
  { name: 'Knowledge', description: 'Questions and answers that AI agents use in their replies.' },
  { name: 'Service', description: 'The service itself. These endpoints need no API key.' },
];
