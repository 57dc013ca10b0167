import type { Bounds } from '../../services/api/bounds.ts';
import type { ApiConfig } from '../../services/api/config.ts';
import * as build from './builders.ts';
import { type Answer, errorOf, startApi, type TestApi, tokens, useApi } from './test-api.ts';

const clock = { nowMs: 1_000 };
const shared = useApi({ ticket: [build.ticket({ id: 'ti_1' })] });
let api: TestApi;

const start = async (settings: Partial<ApiConfig>, bounds: Partial<Bounds> = {}) => {
  api = await startApi(shared.store, { settings, bounds, nowMs: () => clock.nowMs });
};
afterEach(() => api?.close());

/** The numbers of the headers of a response; NaN for a header that it lacks. */
function limits({ headers }: Answer) {
  const numberIn = (name: string) => Number(headers.get(name) ?? NaN);
  return {
    limit: numberIn('ratelimit-limit'),
    remaining: numberIn('ratelimit-remaining'),
    reset: numberIn('ratelimit-reset'),
  };
}

describe('the limit of a key', () => {
  test('every authenticated response reports the limit', async () => {
    const limit = 20;
    await start({ RATE_LIMIT_REQUESTS: limit });
    let remaining = limit;
    for (const { path, method, status } of [
      { path: '/v1/tickets', method: 'GET', status: 200 },
      { path: '/v1/tickets', method: 'HEAD', status: 200 },
      { path: '/v1/tickets', method: 'OPTIONS', status: 204 },
      { path: '/v1/tickets', method: 'DELETE', status: 405 },
      { path: '/v1/tickets?limit=0', method: 'GET', status: 422 },
      { path: '/v1/tickets/ti_none', method: 'GET', status: 404 },
      { path: '/v1/tickets/%zz', method: 'GET', status: 422 },
      { path: '/nothing', method: 'GET', status: 404 },
    ]) {
      const answer = await api.get(path, { method });
      remaining -= 1;
      const seen = { path, status: answer.status, ...limits(answer) };
      expect(seen).toEqual({ path, status, limit, remaining, reset: 60 });
      expect(answer.headers.get('ratelimit-policy')).toBe('20;w=60');
    }
  });

  test('a response to a request without a valid key reports no limit', async () => {
    await start({ RATE_LIMIT_REQUESTS: 20 });
    for (const token of [null, 'nonsense', 'svc_live_unknown']) {
      const { headers } = await api.get('/v1/tickets', { token });
      expect(headers.has('ratelimit-limit')).toBe(false);
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
    expect(limits(refused)).toEqual({ limit: 2, remaining: 0, reset: 40 });
    expect(refused.headers.get('retry-after')).toBe('40');
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
  const policyOf = async (token = tokens.a) => {
    const { headers } = await api.get('/v1/tickets', { token });
    return headers.get('ratelimit-policy');
  };

  test("a change of a key's own limit takes effect within six seconds during a window", async () => {
    await setOwnLimit(3);
    await start({ RATE_LIMIT_REQUESTS: 2 });
    const ask = async () => {
      const answer = await api.get('/v1/tickets');
      return { status: answer.status, ...limits(answer) };
    };
    expect(await ask()).toEqual({ status: 200, limit: 3, remaining: 2, reset: 60 });
    expect(await ask()).toEqual({ status: 200, limit: 3, remaining: 1, reset: 60 });
    expect(await ask()).toEqual({ status: 200, limit: 3, remaining: 0, reset: 60 });
    expect(await ask()).toEqual({ status: 429, limit: 3, remaining: 0, reset: 60 });
    expect(await policyOf(tokens.b)).toBe('2;w=60');
    await setOwnLimit(5);
    clock.nowMs += 6_000;
    expect(await ask()).toEqual({ status: 200, limit: 5, remaining: 1, reset: 54 });
    expect(await ask()).toEqual({ status: 200, limit: 5, remaining: 0, reset: 54 });
    expect(await ask()).toEqual({ status: 429, limit: 5, remaining: 0, reset: 54 });
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
  // The second request would exceed the limit if the first one counted.
  for (let request = 0; request < 2; request += 1) {
    const { status, headers } = await api.get('/v1/tickets');
    expect(status).toBe(503);
    expect(headers.has('ratelimit-remaining')).toBe(false);
  }
});

describe('the limit of an address that guesses keys', () => {
  const guess = (address: string, token = `svc_live_${Math.random()}`) =>
    api.get('/v1/tickets', { token, headers: { 'X-Forwarded-For': address } });

  test('the limit refuses further invalid keys until the window has passed', async () => {
    await start({}, { authFailuresMax: 3 });
    const statuses: number[] = [];
    for (const token of ['svc_live_1', tokens.archived, 'nonsense', 'svc_live_2', 'nonsense']) {
      const { status } = await guess('192.0.2.1', token);
      statuses.push(status);
    }
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    const refused = await guess('192.0.2.1');
    expect(errorOf(refused).code).toBe('too_many_requests');
    expect(refused.headers.get('retry-after')).toBe('60');
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
    expect(errorOf(await missing()).code).toBe('missing_api_key');
    expect(errorOf(await plain()).code).toBe('https_required');
    expect(errorOf(await missing()).code).toBe('missing_api_key');
    // The address has reached its limit.
    expect(errorOf(await missing()).code).toBe('missing_api_key');
    expect(errorOf(await plain()).code).toBe('https_required');
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
