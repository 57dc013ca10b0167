import type { Bounds } from '../../services/api/bounds.ts';
import type { ApiConfig } from '../../services/api/config.ts';
import * as build from './builders.ts';
import { errorOf, startApi, type TestApi, tokens, useApi } from './test-api.ts';

const clock = { nowMs: 1_000 };
const shared = useApi({ ticket: [build.ticket({ id: 'ti_1' })] });
let api: TestApi;

const start = async (settings: Partial<ApiConfig>, bounds: Partial<Bounds> = {}) => {
  api = await startApi(shared.store, { settings, bounds, nowMs: () => clock.nowMs });
};
afterEach(() => api?.close());

const limits = ({ headers }: { headers: Headers }) =>
  Object.fromEntries(
    ['limit', 'remaining', 'reset'].map((name) => [
      name,
      Number(headers.get(`ratelimit-${name}`) ?? Number.NaN),
    ]),
  );

describe('the limit of a key', () => {
  test('every authenticated response reports the limit', async () => {
    await start({ RATE_LIMIT_REQUESTS: 20 });
    let remaining = 20;
    for (const [path, method, status] of [
      ['/v1/tickets', 'GET', 200],
      ['/v1/tickets', 'HEAD', 200],
      ['/v1/tickets', 'OPTIONS', 204],
      ['/v1/tickets', 'DELETE', 405],
      ['/v1/tickets?limit=0', 'GET', 422],
      ['/v1/tickets/ti_none', 'GET', 404],
      ['/v1/tickets/%zz', 'GET', 422],
      ['/nothing', 'GET', 404],
    ] as const) {
      const answer = await api.get(path, { method });
      remaining -= 1;
      expect({ path, status: answer.status, ...limits(answer) }).toEqual({
        path,
        status,
        limit: 20,
        remaining,
        reset: 60,
      });
      expect(answer.headers.get('ratelimit-policy')).toBe('20;w=60');
    }
    for (const token of [null, 'nonsense', 'svc_live_unknown']) {
      expect((await api.get('/v1/tickets', { token })).headers.has('ratelimit-limit')).toBe(false);
    }
  });

  test('the limit refuses further requests of the key until the time in Retry-After', async () => {
    await start({ RATE_LIMIT_REQUESTS: 2 });
    await api.get('/v1/tickets');
    clock.nowMs += 20_500;
    await api.get('/v1/tickets');
    const refused = await api.get('/v1/tickets');
    expect(refused.status).toBe(429);
    expect(errorOf(refused)).toMatchObject({ code: 'too_many_requests', type: 'rate_limit_error' });
    expect({ ...limits(refused), retryAfter: refused.headers.get('retry-after') }).toEqual({
      limit: 2,
      remaining: 0,
      reset: 40,
      retryAfter: '40',
    });
  });

  test('the limit of one key does not refuse requests of another key', async () => {
    await start({ RATE_LIMIT_REQUESTS: 1 });
    await api.get('/v1/tickets');
    expect((await api.get('/v1/tickets')).status).toBe(429);
    expect((await api.get('/v1/tickets', { token: tokens.b })).status).toBe(200);
  });
});

describe("a key's own limit", () => {
  const setOwnLimit = (rateLimit: unknown) =>
    shared.store.database
      .collection<{ _id: string }>('apiKeys')
      .updateOne({ _id: 'key_a' }, { $set: { 'state.rateLimit': rateLimit } });
  afterEach(() => setOwnLimit(null));
  const policyOf = async (token = tokens.a) =>
    (await api.get('/v1/tickets', { token })).headers.get('ratelimit-policy');

  test("a change of a key's own limit takes effect within six seconds during a window", async () => {
    await setOwnLimit(3);
    await start({ RATE_LIMIT_REQUESTS: 2 });
    const ask = async () => {
      const answer = await api.get('/v1/tickets');
      return { status: answer.status, ...limits(answer) };
    };
    expect([await ask(), await ask(), await ask(), await ask()]).toEqual([
      { status: 200, limit: 3, remaining: 2, reset: 60 },
      { status: 200, limit: 3, remaining: 1, reset: 60 },
      { status: 200, limit: 3, remaining: 0, reset: 60 },
      { status: 429, limit: 3, remaining: 0, reset: 60 },
    ]);
    expect(await policyOf(tokens.b)).toBe('2;w=60');
    await setOwnLimit(5);
    clock.nowMs += 6_000;
    expect([await ask(), await ask(), await ask()]).toEqual([
      { status: 200, limit: 5, remaining: 1, reset: 54 },
      { status: 200, limit: 5, remaining: 0, reset: 54 },
      { status: 429, limit: 5, remaining: 0, reset: 54 },
    ]);
    await setOwnLimit(null);
    clock.nowMs += 6_000;
    // Four of the five have to leave: three at 60 s, the others at 66 s.
    expect(await ask()).toEqual({ status: 429, limit: 2, remaining: 0, reset: 54 });
    expect(await policyOf()).toBe('2;w=60');
    clock.nowMs += 56_000;
    expect(await ask()).toEqual({ status: 200, limit: 2, remaining: 1, reset: 60 });
  });

  test("a key's own limit applies although the service limits no other key", async () => {
    await setOwnLimit(1);
    await start({ RATE_LIMIT_REQUESTS: 0 });
    expect(await policyOf()).toBe('1;w=60');
    expect((await api.get('/v1/tickets')).status).toBe(429);
    expect(await policyOf(tokens.b)).toBeNull();
  });

  test.each([0, -5, 1.5, Number.NaN, '500', true])(
    'an invalid own limit (%p) does not count',
    async (value) => {
      await setOwnLimit(value);
      await start({ RATE_LIMIT_REQUESTS: 7 });
      expect(await policyOf()).toBe('7;w=60');
    },
  );

  test("a key's own limit is capped at the greatest value of the setting", async () => {
    await setOwnLimit(Number.MAX_SAFE_INTEGER);
    await start({ RATE_LIMIT_REQUESTS: 7 });
    expect(await policyOf()).toBe('1000000;w=60');
  });
});

test('a request that the API refuses for lack of capacity does not count against the window', async () => {
  await start({ RATE_LIMIT_REQUESTS: 1, API_REQUESTS_MAX: 0 });
  const refused = [await api.get('/v1/tickets'), await api.get('/v1/tickets')];
  expect(refused.map(({ status }) => status)).toEqual([503, 503]);
  expect(refused.map(({ headers }) => headers.has('ratelimit-remaining'))).toEqual([false, false]);
});

describe('the limit of an address that guesses keys', () => {
  const guess = (address: string, token = `svc_live_${Math.random()}`) =>
    api.get('/v1/tickets', { token, headers: { 'X-Forwarded-For': address } });

  test('the limit refuses further invalid keys until the window has passed', async () => {
    await start({}, { authFailuresMax: 3 });
    const statuses = [];
    for (const token of ['svc_live_1', tokens.archived, 'nonsense', 'svc_live_2', 'nonsense']) {
      statuses.push((await guess('192.0.2.1', token)).status);
    }
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    const refused = await guess('192.0.2.1');
    expect({ code: errorOf(refused).code, retryAfter: refused.headers.get('retry-after') }).toEqual({
      code: 'too_many_requests',
      retryAfter: '60',
    });
    expect((await guess('192.0.2.2')).status).toBe(401);
    await api.get('/v1/tickets', { token: null });
    const counts = (await api.metrics.authFailuresCounted.get()).values;
    expect(counts.map(({ labels, value }) => [labels.reason, value])).toEqual([
      ['missing', 1],
      ['malformed', 2],
      ['unknown', 5],
      ['shared_token', 0],
    ]);
    clock.nowMs += 60_000;
    expect((await guess('192.0.2.1')).status).toBe(401);
  });

  test('the limit counts requests without a key and over plain HTTP without changing their errors', async () => {
    await start({}, { authFailuresMax: 3 });
    const forwarded = { 'X-Forwarded-For': '192.0.2.1' };
    const missing = () => api.get('/v1/tickets', { token: null, headers: forwarded });
    const plain = () => api.get('/v1/tickets', { headers: { ...forwarded, 'X-Forwarded-Proto': 'http' } });
    const codes = [];
    for (const request of [missing, plain, missing, missing, plain])
      codes.push(errorOf(await request()).code);
    expect(codes).toEqual([
      'missing_api_key',
      'https_required',
      'missing_api_key',
      'missing_api_key',
      'https_required',
    ]);
    expect((await guess('192.0.2.1')).status).toBe(429);
    expect((await guess('192.0.2.1', tokens.a)).status).toBe(200);
  });

  test('the limit admits every valid key and does not count it', async () => {
    await start({}, { authFailuresMax: 2 });
    for (let index = 0; index < 5; index += 1) expect((await guess('192.0.2.1', tokens.a)).status).toBe(200);
    for (const status of [401, 401, 429, 429]) expect((await guess('192.0.2.1')).status).toBe(status);
    clock.nowMs += 30_000;
    expect((await guess('192.0.2.1', tokens.a)).status).toBe(200);
    expect((await guess('192.0.2.1', tokens.b)).status).toBe(200);
  });
});

test('the API looks up archived and unknown keys with the same single query', async () => {
  const query = async (token: string) => {
    shared.commands.splice(0);
    await shared.get('/v1/tickets', { token });
    const queries = shared.commands.filter(({ command }) => command.find === 'apiKeys');
    return queries.map(({ command: { filter, projection } }) => ({
      fields: Object.keys(filter as object),
      projection: projection as object,
    }));
  };
  const archived = await query(tokens.archived);
  expect(archived).toHaveLength(1);
  expect(await query('svc_live_never')).toEqual(archived);
});
