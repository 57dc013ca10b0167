import { commonHeaders, strictTransportSecurity } from '../http/headers.ts';
import { allowedMethods } from '../http/methods.ts';
import type { JsonSchema } from './json-schema.ts';
import type { Header, Reference, Response } from './types.ts';

type Headers = Response['headers'];

const header = (description: string, schema: JsonSchema, example: string): Header => {
  return { description, required: true, schema, example };
};
const text = (description: string, schema: JsonSchema, example: string) =>
  header(description, { type: 'string', ...schema }, example);
const count = (description: string, minimum: number, example: string) =>
  header(description, { type: 'integer', minimum }, example);
/** A header that always has the same value. */
export const fixed = (description: string, value: string) => text(description, { const: value }, value);

/** Every header that a response may have, except those of the transport. */
export const headers = {
  'Request-Id': text(
    'Id of the request. Quote it when you contact support.',
    { pattern: '^req_[0-9A-Z]{26}$' },
    'req_01K3QZ8M4TFK2V6W8X0Y2Z4A6B',
  ),
  'Data-As-Of': text(
    'The response contains every change made up to this time. It may contain later changes, too.',
    { format: 'date-time', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' },
    '2026-01-31T12:41:03.218Z',
  ),
  'Cache-Control': fixed(
    'Only the client may cache the response, and must revalidate it before each use.',
    commonHeaders['Cache-Control'],
  ),
  'X-Content-Type-Options': fixed('Forbids content-type sniffing.', 'nosniff'),
  'RateLimit-Limit': count('The number of requests that the key may make in one window.', 1, '100'),
  'RateLimit-Remaining': count('The number of requests that the key may still make now.', 0, '87'),
  'RateLimit-Reset': count(
    'Seconds until the oldest request leaves the window, so that the key may make one more.',
    0,
    '42',
  ),
  'RateLimit-Policy': text(
    'The limit, and the length of the window in seconds.',
    { pattern: '^\\d+;w=\\d+$' },
    '100;w=60',
  ),
  'Retry-After': count('Seconds to wait before you try again.', 1, '7'),
  ETag: text(
    'The version of the response. Send it as `If-None-Match` to receive 304 if nothing has changed. Very long responses are streamed and have no `ETag`.',
    { pattern: '^(W/)?"[^"]*"$' },
    'W/"5Qk2Yx0hT1mXbJcVd0nG3A"',
  ),
  Link: text(
    'The URL of the next page of a list, with `rel="next"`; absent on the last page.',
    { pattern: '^<[^>]+>; rel="next"$' },
    '</v1/tickets?limit=50&startingAfter=WzEsIjIwMjYi>; rel="next"',
  ),
  Vary: text('The request headers on which the response depends.', {}, 'Accept-Encoding'),
  'Strict-Transport-Security': {
    ...fixed(
      'Tells clients to use HTTPS only. Every response over TLS has this header.',
      strictTransportSecurity,
    ),
    required: false,
  },
  Allow: fixed('The methods that the endpoint supports.', allowedMethods),
  'WWW-Authenticate': fixed('The authentication scheme.', 'Bearer'),
} satisfies Record<string, Header>;

type HeaderName = keyof typeof headers;

/** Component names of headers contain letters only. */
const componentOf = (name: HeaderName) => name.replaceAll('-', '');

/**
 * Without a rate limit (`isLimited` is false) its headers are left out. `traceDays` is how long a request can be traced;
 * null if requests are not traced.
 */
export const headerComponents = (isLimited: boolean, traceDays: number | null): Record<string, Header> => {
  const components = Object.fromEntries(
    (Object.keys(headers) as HeaderName[])
      // A header that no response always has stands in each response by itself.
      .filter((name) => name !== 'Link' && (isLimited || !ofLimit.includes(name)))
      .map((name) => [componentOf(name), headers[name]]),
  );
  if (traceDays === null) return components;
  const description = `Id of the request, by which support can trace it for ${traceDays} days.`;
  return { ...components, RequestId: { ...headers['Request-Id'], description } };
};

const always = (names: HeaderName[]): Headers =>
  Object.fromEntries(
    names.map((name): [string, Reference] => [name, { $ref: `#/components/headers/${componentOf(name)}` }]),
  );
const sometimes = (names: HeaderName[]): Headers =>
  Object.fromEntries(names.map((name): [string, Header] => [name, { ...headers[name], required: false }]));

const ofAll: HeaderName[] = [
  'Request-Id',
  'Cache-Control',
  'X-Content-Type-Options',
  'Strict-Transport-Security',
];
/** The application may compress its responses; those of the HTTP parser have no `Vary`. */
const varied = (status: number): Headers =>
  [400, 408, 431].includes(status) ? sometimes(['Vary']) : always(['Vary']);
const ofLimit: HeaderName[] = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'RateLimit-Policy',
];

/** Additional headers by status. */
const ofStatus: Record<number, HeaderName[]> = {
  204: ['Allow'],
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Whether this status is sent only after authentication; 400, 429 and 5xx may come before it. */
const isAfterAuthentication = (status: number) => [200, 304, 404, 405, 422].includes(status);
const mayBeAfterAuthentication = (status: number) => [204, 400, 429, 500, 503].includes(status);
/** The HTTP parser answers without `Data-As-Of`, and so does OPTIONS on a public path. */
const mayLackFreshness = (status: number) => [204, 400, 408, 431].includes(status);

/** Headers of a response of `/v1`; `isLimited` is false if the rate limit is turned off. */
export const responseHeaders = (status: number, isLimited: boolean, isList = false): Headers => ({
  ...always(ofAll),
  ...(mayLackFreshness(status) ? sometimes(['Data-As-Of']) : always(['Data-As-Of'])),
  ...(isLimited && isAfterAuthentication(status) ? always(ofLimit) : {}),
  ...(isLimited && mayBeAfterAuthentication(status) ? sometimes(ofLimit) : {}),
  ...varied(status),
  ...(status === 200 ? sometimes(isList ? ['ETag', 'Link'] : ['ETag']) : {}),
  ...(status === 304 ? always(['ETag']) : {}),
  ...always(ofStatus[status] ?? []),
});

/** Headers of a response of a public path, except those that only its 200 has. */
export const publicHeaders = (status: number): Headers => ({
  ...always([...ofAll, ...(ofStatus[status] ?? [])]),
  ...varied(status),
});
