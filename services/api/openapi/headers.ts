import { commonHeaders, strictTransportSecurity } from '../http/headers.ts';
import type { JsonSchema } from './json-schema.ts';
import type { Header, Reference, Response } from './types.ts';

type Headers = Response['headers'];

const createHeader = (description: string, schema: JsonSchema, example: string | number): Header => {
  return { description, required: true, schema, example };
};
const textHeader = (description: string, schema: JsonSchema, example: string) =>
  createHeader(description, { type: 'string', ...schema }, example);
const countHeader = (description: string, minimum: number, example: number) =>
  createHeader(description, { type: 'integer', minimum }, example);
/** A header that always has the same value. */
export const fixedHeader = (description: string, value: string) =>
  textHeader(description, { const: value }, value);

/** Every header that a response may have, except those of the transport. */
export const headers = {
  'Request-Id': textHeader(
    'Id of the request. Quote it when you contact support.',
    { pattern: '^req_[0-9A-Z]{26}$' },
    'req_01K3QZ8M4TFK2V6W8X0Y2Z4A6B',
  ),
  'Data-As-Of': textHeader(
    'The response contains every change made up to this time. It may contain later changes, too.',
    { format: 'date-time' },
    '2026-01-31T12:41:03.218Z',
  ),
  'Cache-Control': fixedHeader(
    'Only the client may cache the response, and must revalidate it before each use.',
    commonHeaders['Cache-Control'],
  ),
  'X-Content-Type-Options': fixedHeader('Forbids content-type sniffing.', 'nosniff'),
  'RateLimit-Limit': countHeader('The number of requests that the key may make in one window.', 1, 100),
  'RateLimit-Remaining': countHeader('The number of requests that the key may still make now.', 0, 87),
  'RateLimit-Reset': countHeader(
    'Seconds until the oldest request leaves the window, so that the key may make one more.',
    0,
    42,
  ),
  'RateLimit-Policy': textHeader(
    'The limit, and the length of the window in seconds.',
    { pattern: '^[0-9]+;w=[0-9]+$' },
    '100;w=60',
  ),
  'Retry-After': countHeader('Seconds to wait before you try again.', 1, 7),
  ETag: textHeader(
    'The version of the response. Send it as `If-None-Match` to receive 304 if nothing has changed. Very long responses are streamed and have no `ETag`.',
    { pattern: '^(W/)?"[^"]*"$' },
    'W/"5Qk2Yx0hT1mXbJcVd0nG3A"',
  ),
  Link: textHeader(
    'The URL of the next page of a list, with `rel="next"`; absent on the last page.',
    { pattern: '^<[^>]+>; rel="next"$' },
    '</v1/tickets?limit=50&startingAfter=WzEsIjIwMjYi>; rel="next"',
  ),
  Vary: textHeader('The request headers on which the response depends.', {}, 'Accept-Encoding'),
  'Strict-Transport-Security': {
    ...fixedHeader(
      'Tells clients to use HTTPS only. Every response over TLS has this header.',
      strictTransportSecurity,
    ),
    required: false,
  },
  'WWW-Authenticate': fixedHeader('The authentication scheme.', 'Bearer'),
} satisfies Record<string, Header>;

type HeaderName = keyof typeof headers;

/** Component names of headers contain letters only. */
const componentOf = (name: HeaderName) => name.replaceAll('-', '');

/**
 * The headers that responses share by reference. `isLimited` is false if only keys with a limit of their own are
 * limited; the headers of the limit are then optional, and each response declares them. `traceDays` is how long a
 * request can be traced; null if requests are not traced.
 */
export const headerComponents = (isLimited: boolean, traceDays: number | null): Record<string, Header> => {
  const components: Record<string, Header> = {};
  for (const name of Object.keys(headers) as HeaderName[]) {
    // Each response declares the headers that are optional.
    const isOptional = name === 'Link' || (!isLimited && limitHeaderNames.includes(name));
    if (!isOptional) components[componentOf(name)] = headers[name];
  }
  if (traceDays === null) return components;
  const description = `Id of the request, by which support can trace it for ${traceDays} days.`;
  return { ...components, RequestId: { ...headers['Request-Id'], description } };
};

function required(names: HeaderName[]): Headers {
  const references: Record<string, Reference> = {};
  for (const name of names) references[name] = { $ref: `#/components/headers/${componentOf(name)}` };
  return references;
}

function optional(names: HeaderName[]): Headers {
  const declared: Record<string, Header> = {};
  for (const name of names) declared[name] = { ...headers[name], required: false };
  return declared;
}

const commonHeaderNames: HeaderName[] = [
  'Request-Id',
  'Cache-Control',
  'X-Content-Type-Options',
  'Strict-Transport-Security',
  'Vary',
];
const limitHeaderNames: HeaderName[] = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'RateLimit-Policy',
];

/** Headers of a listed response of `/v1`. `isLimited` is false if only keys with a limit of their own are limited. */
export const responseHeaders = (status: number, isLimited: boolean, isList = false): Headers => ({
  ...required([...commonHeaderNames, 'Data-As-Of']),
  ...limitHeaders(status, isLimited),
  ...ownHeaders(status, isList),
});

/**
 * The headers of the rate limit. A 401 has none, because authentication precedes the rate limit. A 429 may have none,
 * because the limit of requests in progress also precedes it.
 */
function limitHeaders(status: number, isLimited: boolean): Headers {
  if (status === 401) return {};
  return status === 429 || !isLimited ? optional(limitHeaderNames) : required(limitHeaderNames);
}

/** The headers that only responses of this status have. */
function ownHeaders(status: number, isList: boolean): Headers {
  if (status === 200) return optional(isList ? ['ETag', 'Link'] : ['ETag']);
  if (status === 304) return required(['ETag']);
  if (status === 401) return required(['WWW-Authenticate']);
  return status === 429 ? required(['Retry-After']) : {};
}

/** Headers of a listed response of a public path, except the headers that only its 200 has. */
export const publicHeaders: Headers = required(commonHeaderNames);
