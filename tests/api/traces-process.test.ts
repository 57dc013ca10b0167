import { requestTracesOf } from '../../shared/store/request-traces.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { ask } from './requests.ts';
import { eventually } from '../support/eventually.ts';
import { useApiProcesses, type ApiProcess } from './api-processes.ts';
import { metricOf } from './raw-socket.ts';
import { mongoUrl } from './test-api.ts';

const children = useApiProcesses();

describe('tracing in a separate process', () => {
  const start = (more: Record<string, string> = {}) =>
    children.startServing({ REQUEST_TRACES_KEYLESS_MAX: '1000000', ...more });
  const lossesOf = async (child: ApiProcess) =>
    (await metricOf(child, 'api_request_traces_lost_total{reason="queue_full"}')) || 0;

  it('writes the queued traces at SIGTERM', async () => {
    const child = await start();
    const ids = await Promise.all(
      Array.from({ length: 200 }, async () =>
        String((await ask(child, '/v1/tickets')).headers['request-id']),
      ),
    );
    expect(await child.stop()).toBe(0);
    expect(await requestTracesOf(children.store.control).countDocuments({ _id: { $in: ids } })).toBe(200);
  });

  it('stores none if it is turned off', async () => {
    const child = await start({ REQUEST_TRACES: 'false', REQUEST_TRACE_DAYS: '7' });
    const { headers } = await ask(child, '/v1/tickets');
    expect(await child.stop()).toBe(0);
    expect(
      await requestTracesOf(children.store.control).findOne({ _id: String(headers['request-id']) }),
    ).toBeNull();
  });

  it('neither fails nor slows a request during an outage of the store, and continues afterwards', async () => {
    const proxy = createStoreProxy(mongoUrl());
    const port = await proxy.listen(0);
    const child = await start({ MONGODB_URL: proxiedUrl(port) });
    await proxy.cut();
    await ask(child, '/v1/tickets');
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
    const written = () => requestTracesOf(children.store.control).countDocuments({ _id: { $in: ids } });
    await eventually(async () => (await written()) >= ids.length - lost);
    expect(await child.stop()).toBe(0);
    await proxy.cut();
  });
});
