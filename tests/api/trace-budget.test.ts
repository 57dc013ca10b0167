import { requestTracesOf } from '../../shared/store/request-traces.ts';
import * as build from './builders.ts';
import { startApi, startStore, tokens, type TestStore } from './test-api.ts';

let store: TestStore;

beforeAll(async () => {
  store = await startStore();
  await build.store(store.database, 'ticket', [build.ticket({ id: 'ti_1' })]);
}, 120_000);

afterAll(() => store.close());

it('a flood without a key, or above the rate limit, stores no more traces per minute than configured', async () => {
  const clock = { nowMs: 0 };
  const api = await startApi(store, {
    traced: true,
    keylessTracesMax: 10,
    limit: { requests: 5, windowSeconds: 60 },
    nowMs: () => clock.nowMs,
  });
  const ids: Record<string, string[]> = { served: [], refused: [] };
  const ask = async (times: number, path: string, options: Parameters<typeof api.get>[1], as = 'refused') => {
    for (let index = 0; index < times; index += 1) {
      const { headers } = await api.get(path, options);
      ids[as]?.push(headers.get('request-id') ?? '');
    }
  };
  const flood = async () => {
    await ask(3, '/v1/tickets', { token: null });
    await ask(3, '/v1/tickets', { token: 'svc_live_guess' });
    await ask(3, '/v1/tickets', { headers: { 'X-Forwarded-Proto': 'http' } });
    await ask(3, '/health', { token: null });
    await ask(3, '/nothing', { token: null });
    await ask(3, '/health', { token: null, headers: { 'X-Long': 'x'.repeat(40_000) } });
  };
  await flood();
  await ask(5, '/v1/tickets', {}, 'served');
  await ask(10, '/v1/tickets', {});
  clock.nowMs += 60_000;
  await flood();
  await ask(5, '/v1/tickets', { token: tokens.b }, 'served');
  await api.close();

  const stored = (which: string) =>
    requestTracesOf(store.control).countDocuments({ _id: { $in: ids[which] ?? [] } });
  expect([await stored('served'), await stored('refused')]).toEqual([10, 20]);
  const lost = (await api.metrics.tracesLost.get()).values;
  expect(lost).toContainEqual(
    expect.objectContaining({ labels: { reason: 'keyless_budget' }, value: 46 - 20 }),
  );
}, 30_000);
