import * as build from './builders.ts';
import { now, oneOfEach, urls } from './every-route.ts';
import { tokens, useApi } from './test-api.ts';

const clock = { nowMs: 0 };
const tickets = ['ti_3', 'ti_4', 'ti_5'].map((id) => build.ticket({ id }));
const api = useApi(oneOfEach({ ticket: tickets }), {
  now,
  settings: { RATE_LIMIT_REQUESTS: 50 },
  nowMs: () => clock.nowMs,
});

beforeEach(() => {
  clock.nowMs += 60_000;
});

const etagOf = async (path: string) => {
  const { headers } = await api.get(path);
  return headers.get('etag') ?? '';
};
const getUnless = (tag: string, path = '/v1/tickets') => api.get(path, { headers: { 'If-None-Match': tag } });

/** `api.get` checks that a 304 has its documented headers, and no others. */
test.each([...urls, '/v1/tickets?limit=1'])(
  '%s has a weak ETag, for which GET and HEAD answer 304',
  async (path) => {
    const tag = await etagOf(path);
    expect(tag).toMatch(/^W\/"[\w-]{22}"$/);
    for (const method of ['GET', 'HEAD']) {
      const answer = await api.get(path, { method, headers: { 'If-None-Match': `"other", ${tag}` } });
      const etag = answer.headers.get('etag');
      expect({ status: answer.status, text: answer.text, etag }).toEqual({
        status: 304,
        text: '',
        etag: tag,
      });
      expect(answer.headers.has('content-type')).toBe(false);
    }
  },
);

test('only the strong form of the ETag and * count as a match besides the ETag', async () => {
  const tag = await etagOf('/v1/tickets');
  const strong = tag.replace('W/', '');
  for (const match of [strong, '*']) expect((await getUnless(match)).status).toBe(304);
  const truncated = tag.slice(0, -2);
  for (const other of ['"other"', 'nonsense', truncated]) expect((await getUnless(other)).status).toBe(200);
});

test('a conditional request never replaces an error by 304', async () => {
  const headers = { 'If-None-Match': '*' };
  expect((await api.get('/v1/tickets/ti_none', { headers })).status).toBe(404);
  expect((await api.get('/v1/tickets?limit=0', { headers })).status).toBe(422);
  expect((await api.get('/v1/tickets', { headers, token: null })).status).toBe(401);
});

test('the ETag depends on the content and the query but not on Data-As-Of', async () => {
  const { database, control } = api.store;
  const tag = await etagOf('/v1/tickets');
  expect(await etagOf('/v1/tickets?status=closed')).not.toBe(tag);
  const completeTo = new Date('2026-03-01T00:00:00.000Z');
  await build.dataAsOf(control, completeTo);
  clock.nowMs += 2_000;
  const later = await getUnless(tag);
  expect(later.status).toBe(304);
  expect(later.headers.get('data-as-of')).toBe(completeTo.toISOString());
  await build.store(database, 'ticket', [build.ticket({ id: 'ti_2' })]);
  expect((await getUnless(tag)).status).toBe(200);
});

test('a 304 counts against the rate limit, because it costs the same reads', async () => {
  for (const remaining of ['49', '48']) {
    const answer = await getUnless('*', '/v1/channels');
    expect(answer.status).toBe(304);
    expect(answer.headers.get('ratelimit-remaining')).toBe(remaining);
  }
});

test('a list has the same ETag in every encoding', async () => {
  const tags = new Set<string | null>();
  for (const encoding of ['identity', 'gzip', 'br']) {
    const { headers } = await api.get('/v1/tickets', { headers: { 'Accept-Encoding': encoding } });
    tags.add(headers.get('etag'));
  }
  expect(tags.size).toBe(1);
});

test('a short answer is not compressed', async () => {
  const headers = { 'Accept-Encoding': 'gzip' };
  const short = await api.get('/v1/knowledge/qa', { token: tokens.b, headers });
  expect(short.headers.get('content-encoding')).toBeNull();
});
