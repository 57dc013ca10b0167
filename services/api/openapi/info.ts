import type { DocsLocation } from '../http/error-envelope.ts';
import { readTimeoutMs } from '../store/deadline.ts';

/** The settings that the OpenAPI document contains. */
export type SpecSettings = {
  docs: DocsLocation;
  keyPrefix: string;
  /** Requests that a key may make in one window; 0 = no limit. */
  limit: { requests: number; windowSeconds: number };
};

/** The introduction of the OpenAPI document, in Markdown. */
export const description = ({ keyPrefix, limit }: SpecSettings): string => `\
Read access to the support data of an organization: tickets, conversations, messages, channels and the Q&As of
its knowledge base.

## Conventions

- Only HTTPS is served; plain HTTP is answered with 403 \`https_required\` and never redirected.
- Bodies are JSON in UTF-8. Names are in camelCase. No field is ever left out for being null, unless said so.
- Times are ISO 8601 in UTC with a trailing \`Z\`: to the second, or to the millisecond in channels and Q&As.
- Ids are opaque text of at most 256 characters; most have a prefix, such as \`ti_\`.
- Every endpoint below \`/v1\` refuses query parameters that it does not have, and values that are out of bounds: 422
  \`invalid_query_parameter\`, with the name in \`error.param\`. \`/health\` and \`/openapi.json\` ignore parameters.
- \`HEAD\` is served wherever \`GET\` is, with the same headers and no body; \`OPTIONS\` answers 204 with \`Allow\`;
  any other method is 405. Paths that are not in this document are 404 \`route_not_found\`.
- Responses carry an \`ETag\`; sent back as \`If-None-Match\`, it saves the transfer of what has not changed.

## Authentication

Send the key in the header \`Authorization: Bearer ${keyPrefix}_live_…\`, and nowhere else. Keys begin with
\`${keyPrefix}_live_\` or \`${keyPrefix}_test_\`, belong to one organization and see its data alone. An archived
key stops working at most 5 seconds after \`Data-As-Of\` has passed the moment of its archiving.

## Pages

Lists are walked by repeating the request with \`startingAfter\` set to the \`nextCursor\` of the page before, until
\`hasMore\` is false. What does not change meanwhile is met exactly once. A cursor is good for the same list with the
same sort and filters.

## Freshness

\`Data-As-Of\` says up to when a response is complete: every change made up to then is in it. The guide at
\`/docs/guides/exports\` says how exports of changes alone miss nothing by it.

## Errors

The status is the source of truth. The body is always \`{"error": {…}}\`; branch on \`error.code\`. Every response
carries a \`Request-Id\`, which is also \`error.requestId\`. 503 means that the data cannot be read at the moment, or not
within ${readTimeoutMs / 1_000} s: try again after \`Retry-After\`.

## Rate limit

${rateLimit(limit)}
`;

const rateLimit = ({ requests, windowSeconds }: SpecSettings['limit']): string =>
  requests === 0
    ? 'Requests are not limited.'
    : `A key may make ${requests} requests in any ${windowSeconds} s; beyond that the answer is 429
\`too_many_requests\`, and \`Retry-After\` says when to go on. The headers \`RateLimit-Limit\`, \`RateLimit-Remaining\` and
\`RateLimit-Reset\` tell how matters stand. A 304 counts like any other response.`;

export const tags = [
  {
    name: 'Tickets',
    description: 'The cases: each has one primary conversation and any number of side ones.',
  },
  { name: 'Conversations', description: 'Threads of messages with one party.' },
  { name: 'Channels', description: 'Chat widgets, email inboxes and forms, each with its live status.' },
  { name: 'Knowledge', description: 'Questions and answers that AI agents use.' },
  { name: 'Service', description: 'The service itself; no key is needed.' },
];
