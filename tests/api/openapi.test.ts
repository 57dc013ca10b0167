import { errorOf, tokens, useApi, type TestApi } from './test-api.ts';

const api = useApi();

const ask = (options: Parameters<TestApi['get']>[1] = {}) =>
  api.get('/openapi.json', { token: null, ...options });

describe('/openapi.json', () => {
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
