import { createTraceWriter } from '../../services/api/traces/trace-store.ts';
import { readTrace, type TraceOfReplica } from '../../services/operations/traces/read-trace.ts';
import { requestTracesOf } from '../../shared/control/request-traces.ts';
import { eventually } from '../support/eventually.ts';
import { matching } from '../support/matchers.ts';
import { runCli } from '../support/run-cli.ts';
import * as build from './builders.ts';
import { type Answer, mongoUrl, type RequestOptions, startApi, tokens, useApi } from './test-api.ts';

const api = useApi({ ticket: [build.ticket({ id: 'ti_1' })] }, { settings: { REQUEST_TRACE_DAYS: 90 } });

const batches = () => requestTracesOf(api.store.control);

async function traceOf({ headers }: Pick<Answer, 'headers'>): Promise<TraceOfReplica> {
  const requestId = headers.get('request-id') ?? '';
  await eventually(async () => (await batches().countDocuments({ 'traces._id': requestId })) === 1);
  return readTrace(api.store.control, requestId);
}

/** The name of a header that is too long for the server, and its value. */
const tooLong = { 'X-Long': 'x'.repeat(40_000) };
const plainHttp = { 'X-Forwarded-Proto': 'http' };

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
    {
      path: '/v1/tickets/ti_1',
      options: {},
      expected: { route: '/v1/tickets/:id', pathId: 'ti_1', status: 200, ...caller },
    },
    {
      path: '/v1/knowledge/qa',
      options: { method: 'HEAD' },
      expected: { method: 'HEAD', route: '/v1/knowledge/qa', status: 200 },
    },
    {
      path: '/v1/tickets',
      options: { method: 'OPTIONS' },
      expected: { method: 'OPTIONS', status: 204, ...caller },
    },
    {
      path: '/health',
      options: { token: null },
      expected: { route: '/health', status: 200, code: null, ...anonymous },
    },
    {
      path: '/v1/tickets/ti_none',
      options: {},
      expected: { pathId: 'ti_none', status: 404, code: 'ticket_not_found', ...caller },
    },
    {
      path: '/v1/nothing/here',
      options: {},
      expected: { route: null, pathId: null, status: 404, code: 'route_not_found', ...caller },
    },
    {
      path: '/v1/tickets',
      options: { method: 'POST' },
      expected: { status: 405, code: 'method_not_allowed', ...caller },
    },
    {
      path: '/v1/tickets',
      options: { token: null },
      expected: { route: null, status: 401, code: 'missing_api_key', ...anonymous },
    },
    {
      path: '/v1/tickets',
      options: { token: tokens.archived },
      expected: { status: 401, code: 'invalid_api_key', ...anonymous },
    },
    {
      path: '/v1/tickets',
      options: { headers: plainHttp },
      expected: { status: 403, code: 'https_required' },
    },
    // A request that could not be parsed.
    {
      path: '/v1/tickets',
      options: { headers: tooLong },
      expected: { method: null, route: null, status: 431, code: 'headers_too_large', ...anonymous },
    },
    // Nothing that may identify a person: without a valid key not even the names of parameters.
    { path: '/v1/tickets?Ada-Lovelace=1', options: { token: null }, expected: { parameters: [] } },
    {
      path: '/v1/tickets/ti_ada@example.com?ada@example.com=1',
      options: {},
      expected: { pathId: null, parameters: [{ name: '(other)', values: null }] },
    },
  ])('has the route and the outcome of $path: case %#', async ({ path, options, expected }) => {
    const answer = await api.get(path, options);
    expect(await traceOf(answer)).toMatchObject(expected);
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

/** The id of a request of 2024, which has no trace. */
const missingId = 'req_01HNZX8JGFACFA36RBXDHEQN6E';

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
  const unknown = await run(missingId);
  expect({ code: unknown.code, text: unknown.text }).toEqual({ code: 1, text: '' });
  expect(unknown.errors).toContain(`there is no trace of ${missingId}, a request of 2024-02-0`);
  expect(unknown.errors).toContain('(REQUEST_TRACE_DAYS=0)');
});

/** How many of these requests have a stored trace. */
async function storedOf(requestIds: string[]): Promise<number> {
  const stored = await batches().find().toArray();
  const traces = stored.flatMap((batch) => batch.traces);
  return traces.filter(({ _id }) => requestIds.includes(_id)).length;
}

test('a flood of refused requests stores a bounded number of traces a minute', async () => {
  const requestsMax = 5;
  const refusedTracesMax = 10;
  const clock = { nowMs: 0 };
  const limited = await startApi(api.store, {
    settings: { REQUEST_TRACE_DAYS: 90, RATE_LIMIT_REQUESTS: requestsMax },
    bounds: { unauthenticatedMax: refusedTracesMax },
    nowMs: () => clock.nowMs,
  });
  /** Sends a request several times. Returns the ids of the requests. */
  const repeat = async (times: number, path: string, options: RequestOptions) => {
    const ids: string[] = [];
    for (let index = 0; index < times; index += 1) {
      const { headers } = await limited.get(path, options);
      ids.push(headers.get('request-id') ?? '');
    }
    return ids;
  };
  const unauthenticated = [
    { path: '/v1/tickets', options: { token: null } },
    { path: '/v1/tickets', options: { token: 'svc_live_guess' } },
    { path: '/v1/tickets', options: { headers: plainHttp } },
    { path: '/health', options: { token: null } },
    { path: '/nothing', options: { token: null } },
    { path: '/health', options: { token: null, headers: tooLong } },
  ];
  const served: string[] = [];
  const refused: string[] = [];
  const keys = [tokens.a, tokens.b];
  // Each key sends its requests in a minute of its own.
  for (const token of keys) {
    for (const { path, options } of unauthenticated) refused.push(...(await repeat(3, path, options)));
    served.push(...(await repeat(requestsMax, '/v1/tickets', { token })));
    refused.push(...(await repeat(5, '/v1/tickets', { token })));
    clock.nowMs += 60_000;
  }
  const refusedTraces = keys.length * refusedTracesMax;
  // A service that stops waits only some seconds for MongoDB to store its last traces.
  await eventually(async () => (await storedOf([...served, ...refused])) >= served.length + refusedTraces);
  await limited.close();
  expect(await storedOf(served)).toBe(served.length);
  expect(await storedOf(refused)).toBe(refusedTraces);
  const { values: lost } = await limited.metrics.tracesLost.get();
  const lostTraces = refused.length - refusedTraces;
  expect(lost).toContainEqual(
    expect.objectContaining({ labels: { reason: 'unauthenticated_budget' }, value: lostTraces }),
  );
});

test('no trace is stored with REQUEST_TRACE_DAYS=0', async () => {
  const untraced = await startApi(api.store);
  const { headers } = await untraced.get('/v1/tickets');
  await untraced.close();
  expect(await batches().countDocuments({ 'traces._id': headers.get('request-id') ?? '' })).toBe(0);
});
