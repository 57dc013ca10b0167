import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { errorCodes } from '../../services/api/http/error-envelope.ts';
import { errorOf, tokens, useApi, type TestApi } from './test-api.ts';

const api = useApi();

const https = { 'X-Forwarded-Proto': 'https' };
const read = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
  fetch(api.url + path, { redirect: 'manual', ...init, headers: { ...https, ...init.headers } });

/** The response as it is sent: `fetch` would decompress it and add `Cache-Control: no-cache`. */
const raw = (path: string, headers: Record<string, string>) =>
  new Promise<{ status: number | undefined; headers: IncomingMessage['headers']; body: Buffer }>(
    (resolve, reject) => {
      httpGet(api.url + path, { headers: { ...https, ...headers } }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }),
        );
      }).on('error', reject);
    },
  );

const pages = ['/docs/guides/paging', '/docs/guides/exports', '/docs/errors'];
const policy = (styles: string) =>
  `default-src 'none'; script-src 'self'; style-src ${styles}; connect-src 'self'; img-src 'self' data:; ` +
  "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

test.each([...pages, ...errorCodes.map((code) => `/docs/errors/${code}`)])(
  'given no key, when %s is read, then it is a page that loads nothing from other hosts',
  async (path) => {
    const { status, headers } = await read(path);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toBe(policy("'self'"));
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('public, max-age=300');
    expect(headers.get('link')).toContain(`<${path.replace(/\/$/, '')}>; rel="canonical"`);
    expect(headers.has('data-as-of')).toBe(false);
  },
);

test.each(['/docs', '/docs/'])('%s admits styles with a nonce, which no other response has', async (path) => {
  const nonces = new Set<string>();
  for (let count = 0; count < 3; count += 1) {
    const { headers, text } = await read(path).then(async (reply) => ({
      headers: reply.headers,
      text: await reply.text(),
    }));
    const [, nonce = ''] = /<meta property="csp-nonce" content="([^"]+)"/.exec(text) ?? [];
    expect(headers.get('content-security-policy')).toBe(policy(`'self' 'nonce-${nonce}'`));
    expect(headers.get('cache-control')).toBe('no-store');
    nonces.add(nonce);
  }
  expect(nonces.size).toBe(3);
});

test('given an error, when its docUrl is followed, then it leads to the page of its code', async () => {
  const error = errorOf(await api.get('/v1/tickets?limit=0'));
  expect(error.docUrl.startsWith('https://localhost:')).toBe(true);
  const page = await read(new URL(error.docUrl).pathname);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('<h1><code>invalid_query_parameter</code></h1>');
});

test.each([
  '/docs/errors/no_such_code',
  '/docs/nothing',
  '/docs/errors/__proto__',
  '/docs/assets/x/site.css',
])('given a page that does not exist, when %s is read, then it is 404 in the envelope', async (path) => {
  const reply = await read(path);
  expect(reply.status).toBe(404);
  expect(await reply.json()).toMatchObject({ error: { code: 'route_not_found' } });
});

test('an unchanged page is 304, HEAD has no body, other methods are refused', async () => {
  const etag = (await read('/docs/errors')).headers.get('etag') ?? '';
  expect((await raw('/docs/errors', { 'If-None-Match': etag })).status).toBe(304);
  const head = await read('/docs/errors', { method: 'HEAD' });
  expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
  const options = await read('/docs', { method: 'OPTIONS' });
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  const post = await read('/docs', { method: 'POST' });
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
});

test('plain HTTP is refused', async () => {
  expect((await fetch(`${api.url}/docs`)).status).toBe(403);
});

test('assets are compressed as requested, and browsers cache them until their URL changes', async () => {
  const page = await (await read('/docs')).text();
  const [bundle = ''] = /\/docs\/assets\/[^"]*scalar\.js/.exec(page) ?? [];
  const plain = await raw(bundle, { 'Accept-Encoding': 'identity' });
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  const brotli = await raw(bundle, { 'Accept-Encoding': 'gzip, deflate, br, zstd' });
  expect(brotli.headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' });
  expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
  expect(brotli.body.length).toBeLessThan(plain.body.length / 3);
  const gzip = await raw(bundle, { 'Accept-Encoding': 'gzip' });
  expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
});

test('given a page of another version, when its assets are loaded, then they are served without caching', async () => {
  const other = await read('/docs/assets/000000000000/site.css');
  expect(other.status).toBe(200);
  expect(other.headers.get('cache-control')).toBe('public, no-cache');
});

describe('/openapi.json', () => {
  const ask = (options: Parameters<TestApi['get']>[1] = {}) =>
    api.get('/openapi.json', { token: null, ...options });

  it('is served to anyone, and may be cached', async () => {
    const answer = await ask();
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ openapi: '3.1.1', paths: { '/v1/tickets': {} } });
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.has('data-as-of')).toBe(false);
  });

  it('is 304 for clients that have it, with a key or without', async () => {
    const etag = (await ask()).headers.get('etag') ?? '';
    expect(etag).toMatch(/^W\/".+"$/);
    for (const token of [null, tokens.a, 'nonsense']) {
      const answer = await ask({ token, headers: { 'If-None-Match': `"other", ${etag}` } });
      expect([answer.status, answer.text.length, answer.headers.get('etag')]).toEqual([304, 0, etag]);
    }
    expect((await ask({ headers: { 'If-None-Match': '"other"' } })).status).toBe(200);
  });

  it('answers HEAD and OPTIONS, and no other method', async () => {
    const head = await ask({ method: 'HEAD' });
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', expect.any(String)]);
    expect((await ask({ method: 'OPTIONS' })).headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    expect(errorOf(await ask({ method: 'POST' })).code).toBe('method_not_allowed');
  });

  it('is served over HTTPS only', async () => {
    const answer = await ask({ headers: { 'X-Forwarded-Proto': 'http' } });
    expect([answer.status, errorOf(answer).code]).toEqual([403, 'https_required']);
  });
});
