import { specFor } from '../../services/api/openapi/spec-for.ts';
import { ticketExample } from '../../services/api/resources/tickets/schema.ts';
import { documented, type Exchange } from './documented.ts';

const holdToDocument = documented(specFor());

const headers = {
  'content-type': 'application/json; charset=utf-8',
  'request-id': 'req_01K3QZ8M4TFK2V6W8X0Y2Z4A6B',
  'data-as-of': '2026-01-31T12:41:03.218Z',
  'cache-control': 'private, no-cache',
  'x-content-type-options': 'nosniff',
  'ratelimit-limit': '100',
  'ratelimit-remaining': '99',
  'ratelimit-reset': '60',
  etag: 'W/"1"',
  vary: 'Accept-Encoding',
};
type Given = Partial<Omit<Exchange, 'headers' | 'text'>> & {
  headers?: Record<string, string>;
  without?: string;
  body?: unknown;
};
const exchange = ({ headers: changed, without, body = ticketExample, ...rest }: Given = {}): Exchange => ({
  method: 'GET',
  path: '/v1/tickets/ti_1',
  status: 200,
  headers: Object.entries<string>({ ...headers, ...changed }).filter(([name]) => name !== without),
  text: body === null ? '' : JSON.stringify(body),
  ...rest,
});

test.each<[string, Given]>([
  ['the documented answer', {}],
  ['HEAD without a body', { method: 'HEAD', body: null }],
])('%s passes', (_, given) => {
  expect(() => holdToDocument(exchange(given))).not.toThrow();
});

test.each<[string, Given, string]>([
  ['a field too many', { body: { ...ticketExample, extra: 1 } }, 'must NOT have additional properties'],
  [
    'a field too few',
    { body: { ...ticketExample, title: undefined } },
    "must have required property 'title'",
  ],
  [
    'an instant of another shape',
    { body: { ...ticketExample, createdAt: '2026-01-31' } },
    'must match pattern',
  ],
  [
    'an instant that never was',
    { body: { ...ticketExample, createdAt: '2026-02-31T00:00:00Z' } },
    'must match format',
  ],
  ['a body to HEAD', { method: 'HEAD' }, 'there is a body'],
  ['another type', { headers: { 'content-type': 'text/html' } }, 'the type is text/html'],
  ['a promised header left out', { without: 'request-id' }, 'Request-Id is missing'],
  ['a header of another shape', { headers: { 'ratelimit-reset': 'soon' } }, 'RateLimit-Reset: soon'],
  ['a header that is not documented', { headers: { 'x-powered-by': 'x' } }, 'x-powered-by is not documented'],
  ['a status that is not documented', { status: 418 }, 'no such response'],
  ['a status of other paths', { path: '/v1/tickets', status: 404 }, 'no such response'],
  ["another path's body", { path: '/v1/conversations/conv_1' }, 'must have required property'],
  ['success at a path that is none', { path: '/v1/nothing' }, 'no such response'],
])('%s fails', (_, given, fault) => {
  expect(() => holdToDocument(exchange(given))).toThrow(fault);
});
