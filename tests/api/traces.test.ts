import { createTraceWriter } from '../../services/api/traces/trace-store.ts';
import { readTrace, type TraceOfReplica } from '../../services/operations/traces/read-trace.ts';
import { requestTracesOf } from '../../shared/control/request-traces.ts';
import { eventually } from '../support/eventually.ts';
import { matching } from '../support/matchers.ts';
import { runCli } from '../support/run-cli.ts';
import * as build from './builders.ts';
import { type Answer, mongoUrl, startApi, tokens, useApi } from './test-api.ts';

const api = useApi({ ticket: [build.ticket({ id: 'ti_1' })] }, { settings: { REQUEST_TRACE_DAYS: 90 } });

const batches = () => requestTracesOf(api.store.control);

async function traceOf({ headers }: Pick<Answer, 'headers'>): Promise<TraceOfReplica> {
  const requestId = headers.get('request-id') ?? '';
  await eventually(async () => (await batches().countDocuments({ 'traces._id': requestId })) === 1);
  return await readTrace(api.store.control, requestId);
}

describe('the trace of a request', () => {
  test('contains the request, the caller and the outcome, and expires after 90 days', async () => {
    const before = Date.now();
    const answer = await api.get('/v1/tickets?status=open&status=closed');
    const trace = await traceOf(answer);
    expect(trace).toEqual({
      _id: answer.headers.get('request-id'),
      at: expect.any(Date) as Date,
      method: 'GET',
      route: '/v1/tickets',
      pathId: null,
      parameters: [{ name: 'status', values: ['open', 'closed'] }],
      status: 200,
      code: null,
      durationMs: expect.any(Number) as number,
      aborted: false,
      keyId: 'key_a',
      orgId: 'org_a',
      replica: matching(/./),
      expiresAt: expect.any(Date) as Date,
    });
    expect(trace.at.getTime()).toBeGreaterThanOrEqual(before);
    expect((trace.expiresAt.getTime() - trace.at.getTime()) / 86_400_000).toBeCloseTo(90, 2);
    expect(trace.durationMs).toBeGreaterThan(0);
    const indexes = await batches().indexes();
    expect(indexes).toContainEqual(expect.objectContaining({ key: { expiresAt: 1 }, expireAfterSeconds: 0 }));
  });

  const caller = { keyId: 'key_a', orgId: 'org_a' };
  const anonymous = { keyId: null, orgId: null };
  test.each([
    ['/v1/tickets/ti_1', {}, { route: '/v1/tickets/:id', pathId: 'ti_1', status: 200, ...caller }],
    ['/v1/knowledge/qa', { method: 'HEAD' }, { method: 'HEAD', route: '/v1/knowledge/qa', status: 200 }],
    ['/v1/tickets', { method: 'OPTIONS' }, { method: 'OPTIONS', status: 204, ...caller }],
    ['/health', { token: null }, { route: '/health', status: 200, code: null, ...anonymous }],
    ['/v1/tickets/ti_none', {}, { pathId: 'ti_none', status: 404, code: 'ticket_not_found', ...caller }],
    ['/v1/nothing/here', {}, { route: null, pathId: null, status: 404, code: 'route_not_found', ...caller }],
    ['/v1/tickets', { method: 'POST' }, { status: 405, code: 'method_not_allowed', ...caller }],
    ['/v1/tickets', { token: null }, { route: null, status: 401, code: 'missing_api_key', ...anonymous }],
    ['/v1/tickets', { token: tokens.archived }, { status: 401, code: 'invalid_api_key', ...anonymous }],
    ['/v1/tickets', { headers: { 'X-Forwarded-Proto': 'http' } }, { status: 403, code: 'https_required' }],
    // A request that could not be parsed.
    [
      '/v1/tickets',
      { headers: { 'X-Long': 'x'.repeat(40_000) } },
      { method: null, route: null, status: 431, code: 'headers_too_large', ...anonymous },
    ],
    // Nothing that may identify a person: without a valid key not even the names of parameters.
    ['/v1/tickets?Ada-Lovelace=1', { token: null }, { parameters: [] }],
    [
      '/v1/tickets/ti_ada@example.com?ada@example.com=1',
      {},
      { pathId: null, parameters: [{ name: '(other)', values: null }] },
    ],
  ])('has the route and the outcome of %s: case %#', async (path, options, expected) => {
    expect(await traceOf(await api.get(path, options))).toMatchObject(expected);
  });

  test('expires although the store first refused the index', async () => {
    const database = api.store.control.client.db(`${api.store.name}_traces`);
    const traces = requestTracesOf(database);
    const otherIndex = await traces.createIndex({ expiresAt: 1 }, { expireAfterSeconds: 60 });
    const write = createTraceWriter({ control: database, now: async () => new Date() }, 90);
    const trace = await traceOf(await api.get('/health'));
    await expect(write([trace])).rejects.toThrow('expireAfterSeconds');
    await traces.dropIndex(otherIndex);
    await write([trace]);
    expect(await traces.indexes()).toContainEqual(expect.objectContaining({ expireAfterSeconds: 0 }));
    await database.dropDatabase();
  });
});

test('`support-cli trace` prints a trace', async () => {
  const answer = await api.get('/v1/tickets/ti_1?limit=5');
  const { _id: requestId } = await traceOf(answer);
  const run = (...words: string[]) =>
    runCli({ MONGODB_URL: mongoUrl(), DATABASE_NAME: api.store.name }, ['trace', ...words]);
  const shown = await run(requestId);
  expect(shown.code).toBe(0);
  expect(shown.text).toMatch(/^request +req_.*\ntime .*\nmethod +GET\nroute +\/v1\/tickets\/:id\nid +ti_1\n/);
  expect(shown.text).toMatch(
    /parameters +limit \(value not kept\)\nstatus +422\nerror +invalid_query_parameter\n/,
  );
  const json = await run(requestId, '--json');
  expect(JSON.parse(json.text)).toMatchObject({ _id: requestId, keyId: 'key_a', status: 422 });
  const unknown = await run('req_01HNZX8JGFACFA36RBXDHEQN6E');
  expect({ code: unknown.code, text: unknown.text }).toEqual({ code: 1, text: '' });
  expect(unknown.errors).toContain(
    'there is no trace of req_01HNZX8JGFACFA36RBXDHEQN6E, a request of 2024-02-0',
  );
  expect(unknown.errors).toContain('(REQUEST_TRACE_DAYS=0)');
});

test('a flood of refused requests stores a bounded number of traces a minute', async () => {
  const clock = { nowMs: 0 };
  const limited = await startApi(api.store, {
    settings: { REQUEST_TRACE_DAYS: 90, RATE_LIMIT_REQUESTS: 5 },
    bounds: { unauthenticatedMax: 10 },
    nowMs: () => clock.nowMs,
  });
  const ids = { served: [] as string[], refused: [] as string[] };
  const ask = async (as: keyof typeof ids, times: number, ...request: Parameters<typeof limited.get>) => {
    for (let index = 0; index < times; index += 1)
      ids[as].push((await limited.get(...request)).headers.get('request-id') ?? '');
  };
  for (const token of [tokens.a, tokens.b]) {
    await ask('refused', 3, '/v1/tickets', { token: null });
    await ask('refused', 3, '/v1/tickets', { token: 'svc_live_guess' });
    await ask('refused', 3, '/v1/tickets', { headers: { 'X-Forwarded-Proto': 'http' } });
    await ask('refused', 3, '/health', { token: null });
    await ask('refused', 3, '/nothing', { token: null });
    await ask('refused', 3, '/health', { token: null, headers: { 'X-Long': 'x'.repeat(40_000) } });
    await ask('served', 5, '/v1/tickets', { token });
    await ask('refused', 5, '/v1/tickets', { token });
    clock.nowMs += 60_000;
  }
  const stored = async (those: string[]) => {
    const traces = (await batches().find().toArray()).flatMap((batch) => batch.traces);
    return traces.filter(({ _id }) => those.includes(_id)).length;
  };
  // A service that stops waits only some seconds for MongoDB to store its last traces.
  await eventually(async () => (await stored([...ids.served, ...ids.refused])) >= 30);
  await limited.close();
  expect([await stored(ids.served), await stored(ids.refused)]).toEqual([10, 20]);
  const lost = (await limited.metrics.tracesLost.get()).values;
  expect(lost).toContainEqual(
    expect.objectContaining({ labels: { reason: 'unauthenticated_budget' }, value: 46 - 20 }),
  );
});

test('no trace is stored with REQUEST_TRACE_DAYS=0', async () => {
  const untraced = await startApi(api.store);
  const { headers } = await untraced.get('/v1/tickets');
  await untraced.close();
  expect(await batches().countDocuments({ 'traces._id': headers.get('request-id') ?? '' })).toBe(0);
});
