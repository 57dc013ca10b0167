import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { errorCodes } from '../../services/api/http/error-envelope.ts';
import { tokens, useApi } from './test-api.ts';

const api = useApi();

const https = { 'X-Forwarded-Proto': 'https' };
const read = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
  fetch(api.url + path, { redirect: 'manual', ...init, headers: { ...https, ...init.headers } });

/** The response as it is sent: `fetch` would decompress it and add `Cache-Control: no-cache`. */
const readRaw = async (path: string, headers: Record<string, string>) => {
  const request = httpGet(api.url + path, { headers: { ...https, ...headers } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
};

const pages = [
  '/docs',
  '/docs/',
  '/docs/guides/paging',
  '/docs/guides/exports',
  '/docs/guides/dlt',
  '/docs/guides/airbyte',
  '/docs/guides/singer',
  '/docs/guides/versioning',
  '/docs/errors',
];
const everyPage = [...pages, ...errorCodes.map((code) => `/docs/errors/${code}`)];
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

test.each(everyPage)('%s is a page that needs no key and loads nothing from other hosts', async (path) => {
  const { status, headers } = await read(path);
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(headers.get('content-security-policy')).toBe(policy);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(headers.get('cache-control')).toBe('public, max-age=300');
  const canonical = path.replace(/\/$/, '');
  expect(headers.get('link')).toContain(`<${canonical}>; rel="canonical"`);
  expect(headers.get('link')).toContain(`<${canonical}.md>; rel="alternate"; type="text/markdown"`);
  expect(headers.has('data-as-of')).toBe(false);
});

/** Each page in Markdown. */
const markdownPaths = everyPage.filter((path) => !path.endsWith('/')).map((path) => `${path}.md`);

test.each([
  { path: '/llms.txt', type: 'text/plain; charset=utf-8' },
  ...markdownPaths.map((path) => ({ path, type: 'text/markdown; charset=utf-8' })),
])('$path is Markdown that needs no key', async ({ path, type }) => {
  const reply = await read(path);
  expect(reply.status).toBe(200);
  expect(reply.headers.get('content-type')).toBe(type);
  expect(reply.headers.get('content-security-policy')).toBe(policy);
  expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
  expect(reply.headers.get('cache-control')).toBe('public, max-age=300');
  const text = await reply.text();
  expect(text).toMatch(/^# .+\n\n[^]+\n$/);
  expect(text).not.toMatch(/<!--|<[a-z]+[ >]|\n{3}/);
});

async function textOf(path: string): Promise<string> {
  const reply = await read(path);
  return reply.text();
}

/** The paths of the links in Markdown, without fragments. */
const linksIn = (markdown: string) =>
  [...markdown.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target.replace(/#.*/, ''));

test('llms.txt has a line for each page, and every link in Markdown leads to a page', async () => {
  const listedPaths = [...markdownPaths, '/openapi.json'];
  const index = await textOf('/llms.txt');
  expect(linksIn(index).toSorted()).toEqual(listedPaths.toSorted());
  const items = index.split('\n').filter((line) => line.startsWith('- '));
  for (const item of items) expect(item).toMatch(/^- \[[^\]]+\]\(\/[^)]+\): .+\.$/);
  const targets = linksIn(index);
  for (const path of markdownPaths) targets.push(...linksIn(await textOf(path)));
  expect(targets.filter((path) => !listedPaths.includes(path))).toEqual([]);
  expect(targets.length).toBeGreaterThan(100);
});

test.each([
  '/docs/errors/no_such_code',
  '/docs/nothing',
  '/docs/errors/__proto__',
  '/docs/assets/x/site.css',
])('%s gets 404 and a page that no cache stores', async (path) => {
  const reply = await read(path);
  expect(reply.status).toBe(404);
  expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(reply.headers.get('cache-control')).toBe('private, no-cache');
  expect(reply.headers.get('content-security-policy')).toBe(policy);
  expect(await reply.text()).toContain('<h1>No such page</h1>');
});

test.each(['', '?q=', '?q=cursor', '?q=a&q=b', `?q=${'%3Cb%3E'.repeat(500)}`])(
  'the answer to a search with the query "%s" has no markup from the query',
  async (query) => {
    const reply = await read(`/docs/search${query}`);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-security-policy')).toBe(policy);
    const text = await reply.text();
    expect(text).not.toContain('<b>');
    expect(text.includes('/docs/errors/invalid_cursor')).toBe(query === '?q=cursor');
  },
);

describe.each(['/docs/errors', '/docs/errors.md', '/docs.md', '/llms.txt', '/openapi.json'])('%s', (path) => {
  let etag = '';
  beforeAll(async () => {
    const { headers } = await read(path);
    etag = headers.get('etag') ?? '';
  });

  test('answers a reader of the unchanged page with 304 and no body', async () => {
    const { status, headers, body } = await readRaw(path, { 'If-None-Match': `"other", ${etag}` });
    expect({ status, bytes: body.length, etag: headers.etag }).toEqual({ status: 304, bytes: 0, etag });
  });

  test('answers HEAD without a body', async () => {
    const head = await read(path, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers.get('etag')).toBe(etag);
    expect(await head.text()).toBe('');
  });

  test('allows only GET, HEAD and OPTIONS', async () => {
    const allow = 'GET, HEAD, OPTIONS';
    const options = await read(path, { method: 'OPTIONS' });
    expect({ status: options.status, allow: options.headers.get('allow') }).toEqual({ status: 204, allow });
    const post = await read(path, { method: 'POST' });
    expect({ status: post.status, allow: post.headers.get('allow') }).toEqual({ status: 405, allow });
  });

  test('refuses plain HTTP', async () => {
    expect((await fetch(api.url + path)).status).toBe(403);
  });
});

test('assets have the encoding that the client accepts, and browsers cache them', async () => {
  const page = await textOf('/docs');
  const [bundle = ''] = /\/docs\/assets\/[^"]*pico\.css/.exec(page) ?? [];
  const plain = await readRaw(bundle, { 'Accept-Encoding': 'identity' });
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(plain.headers['cache-control']).toBe('public, max-age=300');
  const brotli = await readRaw(bundle, { 'Accept-Encoding': 'gzip, deflate, br, zstd' });
  expect(brotli.headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' });
  expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
  expect(brotli.body.length).toBeLessThan(plain.body.length / 3);
  const gzip = await readRaw(bundle, { 'Accept-Encoding': 'gzip' });
  expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
});

test('/openapi.json is served with a valid key, with an invalid key and without a key', async () => {
  for (const token of [null, tokens.a, 'nonsense']) {
    const answer = await api.get('/openapi.json', { token });
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ openapi: '3.1.1', paths: { '/v1/tickets': {} } });
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  }
});
