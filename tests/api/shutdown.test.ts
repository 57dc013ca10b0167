import { Agent } from 'node:http';
import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { readTrace } from '../../services/operations/traces/read-trace.ts';
import { processesOf } from '../../shared/control/processes.ts';
import { eventually, succeeds } from '../support/eventually.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { withoutTimeLimits } from '../support/wrong-clock.ts';
import { type ApiProcess, useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { expectAnswering, host, metricOf, open, untilClosed } from './raw-socket.ts';
import { begin } from './requests.ts';
import { mongoUrl } from './test-api.ts';

const messageCount = 400;
const messages = Array.from({ length: messageCount }, (_, index) =>
  build.message({ id: `msg_${String(index).padStart(4, '0')}`, content: 'x'.repeat(20_000) }),
);
const large = { id: 'msg_large', conversationId: 'conv_large', content: 'x'.repeat(12_000_000) };
const apis = useApiProcesses({
  ticket: [build.ticket({ id: 'ti_slow' })],
  conversation: ['conv_1', 'conv_large'].map((id) => build.conversation({ id })),
  message: [...messages, build.message(large)],
});
const proxy = createStoreProxy(mongoUrl());
let proxied: Record<string, string>;

beforeAll(async () => {
  proxied = { MONGODB_URL: proxiedUrl(await proxy.listen(), '') };
});

afterEach(() => proxy.release());
afterAll(() => proxy.cut());

/** Options of a request through the trusted proxy, on connections that stay open. */
const keepAlive = () => ({ agent: new Agent({ keepAlive: true, maxSockets: Infinity }) });

/** Sends SIGTERM; resolves when the service has begun to stop. */
async function terminate(api: ApiProcess) {
  const exited = api.stop();
  await api.logged('stopping');
  return { exited };
}

/** The errors since the stop began: before the stop, a slow store may have made requests fail. */
function errorsOf({ log }: ApiProcess) {
  const sinceStop = log.slice(log.findIndex(({ msg }) => msg === 'stopping'));
  return sinceStop.filter(({ level }) => level === 'error' || level === 'fatal');
}

describe('a stopping API', () => {
  test('does not wait for connections that were never used', async () => {
    const api = await apis.startServing({ ...apis.tls, SHUTDOWN_DELAY_SECONDS: '1' });
    const sockets = [connect(api.port, host), await open(api)];
    const ended = sockets.map(untilClosed);
    expect(await api.stop()).toBe(0);
    expect(errorsOf(api)).toEqual([]);
    await Promise.all(ended);
  });

  test('does not wait for an idle connection with a long keep-alive', async () => {
    const settings = { API_KEEP_ALIVE_SECONDS: '86400', SHUTDOWN_DELAY_SECONDS: '0' };
    const api = await apis.startServing({ ...proxied, ...settings });
    const response = await begin(api, '/v1/tickets?limit=1', keepAlive());
    await textOf(response);
    expect(response.headers['keep-alive']).toBe('timeout=86400');
    expect(await api.stop()).toBe(0);
    expect(errorsOf(api)).toEqual([]);
  });

  test('answers requests in progress and stores their traces before it exits', async () => {
    const api = await apis.startServing({ ...proxied, ...withoutTimeLimits() });
    proxy.trouble.holding = 'ti_slow';
    const kept = keepAlive();
    const requests = Array.from({ length: 24 }, () => begin(api, '/v1/tickets/ti_slow', kept));
    await eventually(async () => (await metricOf(api, 'api_requests_in_flight')) === requests.length);
    const { control } = apis.store;
    const announced = () => processesOf(control).countDocuments({ pid: api.pid, state: 'running' });
    // The first announcement may have failed: it waits one second for a store that is slow to be reached.
    await eventually(async () => (await announced()) === 1);
    const { exited } = await terminate(api);
    // A drop waits for the requests of this replica until the last of them has ended.
    await eventually(async () => (await succeeds(expectAnswering(api))) !== true);
    expect(await announced()).toBe(1);
    proxy.release();
    const responses = await Promise.all(requests);
    for (const text of await Promise.all(responses.map(textOf)))
      expect(JSON.parse(text)).toMatchObject({ id: 'ti_slow' });
    expect(responses.map(({ headers }) => headers.connection)).toEqual(requests.map(() => 'close'));
    expect(await exited).toBe(0);
    expect(errorsOf(api)).toEqual([]);
    const ids = responses.map(({ headers }) => String(headers['request-id']));
    // `readTrace` throws if the request has no trace.
    for (const id of ids) await readTrace(control, id);
    expect(await announced()).toBe(0);
  });

  test.each([
    { name: 'is being streamed', path: '/v1/conversations/conv_1', list: 'messages', count: messageCount },
    {
      name: 'waits in memory for its client',
      path: '/v1/conversations/conv_large/messages',
      list: 'data',
      count: 1,
    },
  ])('completes an answer that $name', async ({ path, list, count }) => {
    const api = await apis.startServing();
    const response = await begin(api, path, keepAlive());
    expect(response.headers.connection).toBe('keep-alive');
    const { exited } = await terminate(api);
    const body = JSON.parse(await textOf(response)) as Record<string, unknown[]>;
    expect(body[list]).toHaveLength(count);
    expect(await exited).toBe(0);
    expect(errorsOf(api)).toEqual([]);
  });
});

describe('an API in its shutdown delay', () => {
  test('is not ready but serves requests with Connection: close', async () => {
    const api = await apis.startServing({ SHUTDOWN_DELAY_SECONDS: '300' });
    const kept = keepAlive();
    const first = await begin(api, '/v1/tickets', kept);
    await textOf(first);
    expect(first.headers.connection).toBe('keep-alive');
    api.child.kill('SIGTERM');
    await api.logged('stopping');
    const ready = await api.admin('/readyz');
    expect({ status: ready.status, text: await ready.text() }).toEqual({ status: 503, text: 'stopping\n' });
    for (const via of [kept, keepAlive()]) {
      const response = await begin(api, '/v1/tickets', via);
      response.resume();
      expect(response.statusCode).toBe(200);
      expect(response.headers.connection).toBe('close');
    }
    await api.stop('SIGKILL');
  });
});
