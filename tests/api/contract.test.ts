import { errorEnvelopeSchema } from '../../services/api/http/error-envelope.ts';
import * as build from './builders.ts';
import { lists, now, oneOfEach, otherOwner, routes } from './every-route.ts';
import { errorOf, listOf, tokens, useApi, type Answer } from './test-api.ts';

const completeTo = new Date('2026-01-02T00:00:00.123Z');
const documents = oneOfEach({
  message: [
    build.message({ id: 'msg_2', role: 'system', author: null, content: null }),
    build.message({ id: 'msg_3', role: 'assistant', author: { type: 'ai_agent', id: 'agent_1' } }),
  ],
  channel: (['form', 'email', 'chatbot'] as const).map((type) => build.channel({ id: `chan_${type}`, type })),
  apiKey: [null, undefined].map((orgId) => ({
    ...build.apiKey(`svc_live_${orgId}`, { id: `key_${orgId}` }),
    orgId,
  })),
});
const api = useApi(documents, { now });

beforeAll(async () => {
  await build.dataAsOf(api.store.control, completeTo);
  for (const owner of [otherOwner, { orgId: 'org_a', suffix: '_2' }])
    await build.fill(api.store.database, oneOfEach({}, owner));
});

const expectError = (answer: Answer, status: number, code: string) => {
  expect(answer.status).toBe(status);
  const { error } = errorEnvelopeSchema.parse(answer.json());
  expect(error.code).toBe(code);
  expect(error.requestId).toBe(answer.headers.get('request-id'));
  expect(error.docUrl).toMatch(new RegExp(`^https://localhost:\\d+/docs/errors/${code}$`));
};

const expectHeaders = ({ headers }: Answer) => {
  expect(headers.get('request-id')).toMatch(/^req_[0-9A-Z]{26}$/);
  expect(headers.get('data-as-of')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(headers.get('cache-control')).toBe('private, no-cache');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
};

/** A cursor of each list without filters, as clients have stored it. */
const storedCursors: Record<string, string> = {
  '/v1/tickets': 'WzEsIjIwMjYtMDEtMDFUMDA6MDA6MDAuMDAwWmEiLCJTUWxyb0JVVmM5V2lCSWVjIl0',
  '/v1/channels': 'WzEsIjIwMjYtMDEtMDFUMDA6MDA6MDAuMDAwWmEiLCJwVzF1V3I3cWcyTmF6dVlvIl0',
  '/v1/conversations/:id/messages': 'WzEsIjIwMjYtMDEtMDFUMDA6MDA6MDAuMDAwWmEiLCJfeU1PWFp3WkJkcW9jU21pIl0',
  '/v1/knowledge/qa': 'WzEsIjIwMjYtMDEtMDFUMDA6MDA6MDAuMDAwWmEiLCJ5clJVME1fODQzdXZmU09RIl0',
};

test('each list accepts the cursors that clients have stored', async () => {
  for (const { path, url } of lists) {
    const stored = storedCursors[path];
    const { nextCursor } = listOf(await api.get(`${url}?limit=1`));
    if (!stored) throw new Error(`Add a cursor of the new list to storedCursors: '${path}': '${nextCursor}'`);
    // If it is refused, no client can continue: leave an unset filter out of the scope of cursors.
    const { status } = await api.get(`${url}?startingAfter=${stored}`);
    expect([path, status]).toEqual([path, 200]);
  }
});

describe.each(routes)('$path', ({ route, url, foreign }) => {
  it('answers a key of the organization in the declared shape, with Data-As-Of', async () => {
    const answer = await api.get(url);
    expect(answer.status).toBe(200);
    const body = route.response.parse(answer.json()) as { data?: unknown };
    // An empty list shows nothing.
    expect(body.data).not.toEqual([]);
    expectHeaders(answer);
    expect(answer.headers.get('data-as-of')).toBe(completeTo.toISOString());
  });

  it.each([
    ['no key', null, 'missing_api_key'],
    ['a malformed key', 'nonsense', 'invalid_api_key'],
    ['an unknown key', 'svc_live_unknown', 'invalid_api_key'],
    ['an archived key', tokens.archived, 'invalid_api_key'],
    ['a key whose organization is null', 'svc_live_null', 'invalid_api_key'],
    ['a key without an organization', 'svc_live_undefined', 'invalid_api_key'],
  ])('refuses %s', async (_, token, code) => {
    const answer = await api.get(url, { token });
    expectError(answer, 401, code);
    expect(errorOf(answer).type).toBe('authentication_error');
    expectHeaders(answer);
  });

  it('refuses an unknown query parameter by name', async () => {
    const answer = await api.get(`${url}?page=2`);
    expectError(answer, 422, 'invalid_query_parameter');
    expect(errorOf(answer)).toMatchObject({ type: 'validation_error', param: 'page' });
  });

  it('does not accept a key in the query string', async () => {
    expectError(await api.get(`${url}?api_key=${tokens.a}`, { token: null }), 401, 'missing_api_key');
    for (const name of ['api_key', ...Object.keys(route.query.shape)]) {
      const refused = await api.get(`${url}?${encodeURIComponent(name)}=${tokens.a}`);
      expect(errorOf(refused)).toMatchObject({ code: 'invalid_query_parameter', param: name });
      expect(errorOf(refused).message).toContain('looks like an API key');
      expect(refused.text).not.toContain(tokens.a);
    }
  });

  it('returns no data of another organization', async () => {
    const answer = await api.get(foreign);
    if (foreign === url) expect(answer.text).not.toContain('_b"');
    else expectError(answer, 404, `${(route.path.split('/')[2] ?? '').slice(0, -1)}_not_found`);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('refuses %s and names the allowed methods', async (method) => {
    const answer = await api.get(url, { method });
    expectError(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    expectHeaders(answer);
  });

  it('refuses other methods only after authentication', async () => {
    expectError(await api.get(url, { method: 'POST', token: null }), 401, 'missing_api_key');
  });

  it('answers HEAD like GET, without a body', async () => {
    const answer = await api.get(url, { method: 'HEAD' });
    expect(answer.status).toBe(200);
    expect(answer.text).toBe('');
    expectHeaders(answer);
  });

  it('answers OPTIONS with the allowed methods', async () => {
    const answer = await api.get(url, { method: 'OPTIONS' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  });

  it('refuses plain HTTP before it looks at the key', async () => {
    for (const token of [tokens.a, null]) {
      const answer = await api.get(url, { token, headers: { 'X-Forwarded-Proto': 'http' } });
      expect([answer.status, errorOf(answer).code, errorOf(answer).type]).toEqual([
        403,
        'https_required',
        'invalid_request_error',
      ]);
      expectHeaders(answer);
    }
  });
});

describe('outside the routes', () => {
  it('answers 404 at other paths, but only to callers with a key', async () => {
    for (const path of [
      '/',
      '/v1',
      '/v1/tickets/',
      '/v1/Tickets',
      '/v2/tickets',
      '/v1/tickets/ti_1/x',
      '//',
      '/v1/knowledge',
    ]) {
      expectError(await api.get(path), 404, 'route_not_found');
      expectError(await api.get(path, { token: null }), 401, 'missing_api_key');
    }
  });

  it('answers /health without a key, over plain HTTP too', async () => {
    const answer = await api.get('/health', { token: null, headers: { 'X-Forwarded-Proto': 'http' } });
    expect([answer.status, answer.json()]).toEqual([200, { status: 'ok' }]);
    expect(answer.headers.get('request-id')).toMatch(/^req_/);
    expect((await api.get('/health', { method: 'POST' })).status).toBe(405);
    expect((await api.get('/health?page=2', { token: null })).status).toBe(200);
  });

  it.each(['%zz', '%', '%ff', 'ti_%e0%a4', '%25%zz'])(
    'answers 422 to the id %s, which is not percent-encoded UTF-8',
    async (id) => {
      for (const route of routes.filter(({ path }) => path.includes(':id'))) {
        expectError(await api.get(route.path.replace(':id', id)), 422, 'invalid_path_parameter');
      }
    },
  );

  it('answers 400 to a path that is not percent-encoded UTF-8 and names no resource', async () => {
    for (const path of ['/v1/ticket%zz', '/v1/%ff/ti_1', '/%', '/v1/conversations/%ff/nothing']) {
      expectError(await api.get(path), 400, 'malformed_request');
    }
  });

  it('decodes an id that is percent-encoded twice only once', async () => {
    expectError(await api.get('/v1/tickets/ti_%25zz'), 404, 'ticket_not_found');
  });

  it('answers 414 to a target longer than 8 KB', async () => {
    expectError(await api.get(`/v1/channels/${'x'.repeat(9_000)}`), 414, 'uri_too_long');
  });
});

describe('states that decide visibility', () => {
  const deleted = {
    _id: 'ti_gone',
    orgId: 'org_a',
    version: 2,
    revision: 2,
    at: null,
    deletedAt: new Date(),
  };

  it('does not find tombstones, a conversation without its channel, or the messages of one', async () => {
    await build.store(api.store.database, 'ticket', [deleted]);
    const joined = build.conversationJoined({ channel: null });
    await build.store(api.store.database, 'conversation', [
      build.conversation({ id: 'conv_pending' }, { joined }),
    ]);
    expectError(await api.get('/v1/tickets/ti_gone'), 404, 'ticket_not_found');
    expectError(await api.get('/v1/conversations/conv_pending'), 404, 'conversation_not_found');
    expectError(await api.get('/v1/conversations/conv_pending/messages'), 404, 'conversation_not_found');
    expect((await api.get('/v1/tickets')).text).not.toContain('ti_gone');
  });

  it('returns the messages of an archived conversation, but not the conversation', async () => {
    await build.store(api.store.database, 'conversation', [
      build.conversation({ id: 'conv_old', status: 'archived' }),
    ]);
    expectError(await api.get('/v1/conversations/conv_old'), 404, 'conversation_not_found');
    expect((await api.get('/v1/conversations/conv_old/messages')).status).toBe(200);
  });

  it('retrieves an archived channel, but does not list it', async () => {
    await build.store(api.store.database, 'channel', [
      build.channel({ id: 'chan_old', archivedAt: build.at }),
    ]);
    const answer = await api.get('/v1/channels/chan_old');
    expect(answer.json()).toMatchObject({ status: { state: 'archived', since: build.at } });
    expect((await api.get('/v1/channels')).text).not.toContain('chan_old');
  });
});
