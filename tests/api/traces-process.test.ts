import { requestTracesOf } from '../../shared/store/request-traces.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { ask } from './requests.ts';
import { eventually } from '../support/eventually.ts';
import { startApiProcess, type ApiProcess } from './api-process.ts';
import { mongoUrl, startStore, type TestStore } from './test-api.ts';

let store: TestStore;

beforeAll(async () => {
  store = await startStore();
}, 120_000);

afterAll(() => store.close(), 60_000);

describe('tracing in a separate process', () => {
  const running: ApiProcess[] = [];
  const behindProxy = { 'X-Forwarded-Proto': 'https' };
  const settings = () => ({
    MONGODB_URL: mongoUrl(),
    DATABASE_NAME: store.name,
    API_TRUSTED_PROXIES: '127.0.0.0/8',
    ADMIN_PORT: '0',
    RATE_LIMIT_REQUESTS: '0',
    REQUEST_TRACES_KEYLESS_MAX: '1000000',
  });
  const start = async (more: Record<string, string> = {}) => {
    const child = await startApiProcess({ ...settings(), ...more });
    running.push(child);
    return child;
  };
  const via = (child: ApiProcess, path: string) => ask(child, path, { secure: false, headers: behindProxy });
  afterAll(async () => {
    for (const each of running) await each.stop();
  }, 60_000);

  const lossesOf = async (child: ApiProcess) => {
    const port = Number(child.log.find(({ msg }) => msg === 'admin server listening')?.port);
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(/api_request_traces_lost_total\{reason="queue_full"\} (\d+)/.exec(text)?.[1] ?? 0);
  };

  it('writes the queued traces at SIGTERM', async () => {
    const child = await start();
    await eventually(async () => (await via(child, '/v1/tickets')).status === 200);
    const ids = await Promise.all(
      Array.from({ length: 200 }, async () =>
        String((await via(child, '/v1/tickets')).headers['request-id']),
      ),
    );
    expect(await child.stop()).toBe(0);
    expect(await requestTracesOf(store.control).countDocuments({ _id: { $in: ids } })).toBe(200);
  }, 60_000);

  it('stores none if it is turned off', async () => {
    const child = await start({ REQUEST_TRACES: 'false', REQUEST_TRACE_DAYS: '7' });
    await eventually(async () => (await via(child, '/v1/tickets')).status === 200);
    const { headers } = await via(child, '/v1/tickets');
    expect(await child.stop()).toBe(0);
    expect(await requestTracesOf(store.control).findOne({ _id: String(headers['request-id']) })).toBeNull();
  }, 60_000);

  it('neither fails nor slows a request during an outage of the store, and continues afterwards', async () => {
    const proxy = createStoreProxy(mongoUrl());
    const port = await proxy.listen(0);
    const child = await start({ MONGODB_URL: proxiedUrl(port) });
    await eventually(async () => (await via(child, '/v1/tickets')).status === 200);
    await proxy.cut();
    await via(child, '/v1/tickets');
    // when there are more requests than the queue can hold, then each is answered
    const ids: string[] = [];
    for (let round = 0; round < 102; round += 1) {
      const replies = await Promise.all(
        Array.from({ length: 100 }, () => fetch(`http://127.0.0.1:${child.port}/health`)),
      );
      for (const reply of replies) {
        expect(reply.status).toBe(200);
        ids.push(reply.headers.get('request-id') ?? '');
        await reply.text();
      }
    }
    await eventually(async () => (await lossesOf(child)) > 0);
    await eventually(async () => child.log.some(({ msg }) => msg === 'request traces were lost'));
    // and the queued traces are written once the store is back; only the counted losses are missing
    await proxy.listen(port);
    const lost = await lossesOf(child);
    expect(lost).toBeLessThan(1_000);
    const written = () => requestTracesOf(store.control).countDocuments({ _id: { $in: ids } });
    await eventually(async () => (await written()) >= ids.length - lost);
    expect(await child.stop()).toBe(0);
    await proxy.cut();
  }, 120_000);
});
