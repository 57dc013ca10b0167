import { goldenOf } from '../support/golden.ts';
import * as build from './builders.ts';
import { lists, now, oneOfEach, otherOwner, routes } from './every-route.ts';
import { type Answer, errorOf, listOf, tokens, useApi } from './test-api.ts';

const completeTo = new Date('2026-01-02T00:00:00.123Z');
const documents = oneOfEach({
  message: [
    build.message({ id: 'msg_2', role: 'system', author: null, content: null }),
    build.message({ id: 'msg_3', role: 'assistant', author: { type: 'ai_agent', id: 'agent_1' } }),
  ],
  conversation: [
    build.conversation({ id: 'conv_pending' }, { joined: build.conversationJoined({ channel: null }) }),
    build.conversation({ id: 'conv_old', status: 'archived' }),
  ],
  channel: [
    ...(['form', 'email', 'chatbot'] as const).map((type) => build.channel({ id: `chan_${type}`, type })),
    build.channel({ id: 'chan_old', archivedAt: build.at }),
  ],
  apiKey: [null, undefined].map((orgId) => ({
    ...build.apiKey(`svc_live_${orgId}`, { id: `key_${orgId}` }),
    orgId,
  })),
});
const api = useApi(documents, { now });

beforeAll(async () => {
  await build.dataAsOf(api.store.control, completeTo);
  for (const owner of [otherOwner, { orgId: 'org_a', suffix: '_2' }])
    await build.fill(api.store.database, oneOfEach({}, { owner }));
  const deleted = { orgId: 'org_a', version: 2, revision: 2, at: null, deletedAt: new Date() };
  await build.store(api.store.database, 'ticket', [{ _id: 'ti_gone', ...deleted }]);
});

const expectError = (answer: Answer, status: number, code: string) => {
  expect(answer.status).toBe(status);
  const error = errorOf(answer);
  expect(error.code).toBe(code);
  expect(error.requestId).toBe(answer.headers.get('request-id'));
  // The requests name 127.0.0.1 in `Host`, which a client controls: links do not follow it.
  expect(error.docUrl).toBe(`https://localhost:${api.port}/docs/errors/${code}`);
};

test('each list accepts the cursors that clients have stored', async () => {
  for (const { path, url } of lists) {
    const { nextCursor } = listOf(await api.get(`${url}?limit=1`));
    const stored = (await goldenOf('tests/api/cursors.golden.json', { [path]: nextCursor }))[path];
    // If the API refuses a stored cursor, no client can continue its walk: leave an unset filter out of a cursor's
    // scope.
    const { status } = await api.get(`${url}?startingAfter=${stored}`);
    expect({ path, status }).toEqual({ path, status: 200 });
  }
});

/** `api.get` checks every answer against its declared shape and headers, and that HEAD has no body. */
describe.each(routes)('$path', ({ route, url }) => {
  test('answers a key of the organization with Data-As-Of', async () => {
    const answer = await api.get(url);
    expect(answer.status).toBe(200);
    // An empty list would prove nothing.
    expect(listOf(answer).data).not.toEqual([]);
    expect(answer.headers.get('data-as-of')).toBe(completeTo.toISOString());
  });

  test.each([
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
  });

  test('does not accept a key in the query string', async () => {
    expectError(await api.get(`${url}?api_key=${tokens.a}`, { token: null }), 401, 'missing_api_key');
    const named = ['api_key', ...Object.keys(route.query.shape)].map((name) => ({
      query: `${encodeURIComponent(name)}=${tokens.a}`,
      param: name,
    }));
    const asName = [tokens.a, `${tokens.a}=1`].map((query) => ({ query, param: '[redacted]' }));
    for (const { query, param } of [...named, ...asName]) {
      const refused = await api.get(`${url}?${query}`);
      expect(errorOf(refused)).toMatchObject({ code: 'invalid_query_parameter', param });
      expect(errorOf(refused).message).toContain('replace this one');
      expect(refused.text).not.toContain(tokens.a);
    }
  });

  test.each([
    { method: 'HEAD', token: tokens.a, status: 200 },
    { method: 'HEAD', token: null, status: 401 },
    // The API refuses a method only after authentication.
    { method: 'POST', token: null, status: 401 },
  ])('answers $method with the key $token by the status $status', async ({ method, token, status }) => {
    expect((await api.get(url, { method, token })).status).toBe(status);
  });

  test.each([
    { method: 'OPTIONS', status: 204 },
    ...['POST', 'PUT', 'PATCH', 'DELETE'].map((method) => ({ method, status: 405 })),
  ])(
    'answers $method with a key by the status $status and the allowed methods',
    async ({ method, status }) => {
      const answer = await api.get(url, { method });
      expect(answer.status).toBe(status);
      expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    },
  );

  test('refuses plain HTTP before it looks at the key', async () => {
    const headers = { 'X-Forwarded-Proto': 'http' };
    for (const token of [tokens.a, null])
      expectError(await api.get(url, { token, headers }), 403, 'https_required');
  });
});

const isOfOneEntity = ({ path }: { path: string }) => path.includes(':id');

test.each(routes.filter((route) => !isOfOneEntity(route)))(
  'the route $path returns no data of another organization',
  async ({ url }) => {
    expect((await api.get(url)).text).not.toContain('_b"');
  },
);

test.each(routes.filter(isOfOneEntity))(
  'the route $path does not find the data of another organization',
  async ({ path, foreign }) => {
    const [, , collection = ''] = path.split('/');
    const entity = collection.replace(/s$/, '');
    expectError(await api.get(foreign), 404, `${entity}_not_found`);
  },
);

describe('the API outside its routes', () => {
  test('answers 404 at other paths only to callers with a key', async () => {
    const unversioned = ['/', '//', '/v1', '/v2/tickets'];
    for (const path of [
      ...unversioned,
      '/v1/tickets/',
      '/v1/Tickets',
      '/v1/tickets/ti_1/x',
      '/v1/knowledge',
    ]) {
      expectError(await api.get(path), 404, 'route_not_found');
      expectError(await api.get(path, { token: null }), 401, 'missing_api_key');
    }
  });

  test('answers /health without a key over plain HTTP', async () => {
    const answer = await api.get('/health', { token: null, headers: { 'X-Forwarded-Proto': 'http' } });
    expect({ status: answer.status, body: answer.json() }).toEqual({ status: 200, body: { status: 'ok' } });
    expect(answer.headers.get('request-id')).toMatch(/^req_/);
    expect((await api.get('/health', { method: 'POST' })).status).toBe(405);
    expect((await api.get('/health?page=2', { token: null })).status).toBe(200);
  });

  test.each(['%zz', '%', '%ff', 'ti_%e0%a4', '%25%zz'])(
    'answers 422 to the id %s, which is not percent-encoded UTF-8',
    async (id) => {
      for (const { path } of routes.filter(isOfOneEntity))
        expectError(await api.get(path.replace(':id', id)), 422, 'invalid_path_parameter');
    },
  );

  test('answers 400 to a path that is not percent-encoded UTF-8 and names no resource', async () => {
    for (const path of ['/v1/ticket%zz', '/v1/%ff/ti_1', '/%', '/v1/conversations/%ff/nothing']) {
      expectError(await api.get(path), 400, 'malformed_request');
    }
  });

  test('decodes an id that is percent-encoded twice only once', async () => {
    expectError(await api.get('/v1/tickets/ti_%25zz'), 404, 'ticket_not_found');
  });

  test('answers 414 to a target longer than 8 KB', async () => {
    expectError(await api.get(`/v1/channels/${'x'.repeat(9_000)}`), 414, 'uri_too_long');
  });
});

describe('the API with documents that it hides', () => {
  test.each([
    ['/v1/tickets/ti_gone', 'ticket_not_found'],
    ['/v1/conversations/conv_pending', 'conversation_not_found'],
    ['/v1/conversations/conv_pending/messages', 'conversation_not_found'],
    ['/v1/conversations/conv_old', 'conversation_not_found'],
  ])('answers 404 to %s, which is deleted, archived or without a channel', async (path, code) => {
    expectError(await api.get(path), 404, code);
  });

  test('does not list tombstones and archived channels', async () => {
    expect((await api.get('/v1/tickets')).text).not.toContain('ti_gone');
    expect((await api.get('/v1/channels')).text).not.toContain('chan_old');
  });

  test('retrieves an archived channel and the messages of an archived conversation', async () => {
    const { status } = (await api.get('/v1/channels/chan_old')).json() as { status: object };
    expect(status).toMatchObject({ state: 'archived', since: build.at });
    expect((await api.get('/v1/conversations/conv_old/messages')).status).toBe(200);
  });
});
