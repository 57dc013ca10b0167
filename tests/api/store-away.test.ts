import { ask, codeOf } from './requests.ts';
import { eventually } from '../support/eventually.ts';
import { generationsOf, projectionVersion } from '../../shared/control/generations.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { mongoUrl, startStore, type TestStore } from './test-api.ts';

const children = useApiProcesses({ ticket: [build.ticket({ id: 'ti_1' })] });

describe('a store with outages', () => {
  const { listen, cut, trouble, silentCount } = createStoreProxy(mongoUrl());

  it('is 503 with Retry-After during an outage, and served again without a restart', async () => {
    const port = await listen(0);
    await cut();
    const child = await children.start({ ...children.tls, MONGODB_URL: proxiedUrl(port), ADMIN_PORT: '0' });
    const unavailable = async () => {
      const { status, headers, text } = await ask(child, '/v1/tickets');
      return status === 503 && headers['retry-after'] === '5' && codeOf(text) === 'service_unavailable';
    };
    const ready = async () => (await child.admin('/readyz')).status;
    expect(await unavailable()).toBe(true);
    expect((await ask(child, '/health')).status).toBe(200);
    expect((await ask(child, '/v1/tickets', { headers: { Authorization: 'Bearer x' } })).status).toBe(401);
    await eventually(async () => (await ready()) === 503);
    await listen(port);
    await eventually(async () => (await ask(child, '/v1/tickets')).status === 200);
    await eventually(async () => (await ready()) === 200);
    await cut();
    await eventually(unavailable);
    await eventually(async () => (await ready()) === 503);
    await listen(port);
    await eventually(async () => (await ask(child, '/v1/tickets/ti_1')).status === 200);
    expect(await child.stop()).toBe(0);
    await cut();
  });

  it('is served again soon after an outage of the network, although connections were begun in it', async () => {
    const url = proxiedUrl(await listen(0), 'heartbeatFrequencyMS=500');
    const child = await children.start({ ...children.tls, MONGODB_URL: url });
    const status = async () => (await ask(child, '/v1/tickets')).status;
    await eventually(async () => (await status()) === 200);
    trouble.silent = true;
    const begun = silentCount();
    await eventually(async () => (await status()) === 503 && silentCount() >= begun + 3);
    trouble.silent = false;
    const backAtMs = performance.now();
    await eventually(async () => (await status()) === 200);
    const awayMs = performance.now() - backAtMs;
    process.stdout.write(`served again ${Math.round(awayMs)} ms after the outage\n`);
    // Only the clock tells our limit of a connection, 2 s, from that of the driver, 30 s. A loaded machine adds less.
    expect(awayMs).toBeLessThan(10_000);
    expect(await child.stop()).toBe(0);
    await cut();
  });

  it.each([
    [
      'tickets.updated',
      'before its indexes exist',
      ({ database }: TestStore) => database.collection('tickets').dropIndex('updated'),
      ({ database }: TestStore) => ensureIndexes(database),
    ],
    [
      'holds documents of projection version',
      'while another release has filled it',
      (store: TestStore) => filledBy(store, projectionVersion + 1),
      (store: TestStore) => filledBy(store, projectionVersion),
    ],
  ])('is not served, and the log names %s, %s', async (reason, _, spoil, mend) => {
    const other = await startStore();
    await spoil(other);
    const child = await children.start({ ...children.tls, DATABASE_NAME: other.name });
    await eventually(async () => child.log.some((line) => String(line.reason).includes(reason)));
    expect((await ask(child, '/v1/tickets')).status).toBe(503);
    await mend(other);
    await eventually(async () => (await ask(child, '/v1/tickets')).status === 200);
    await other.close();
  });
});

const filledBy = ({ control }: TestStore, version: number) =>
  generationsOf(control).updateOne(
    { _id: 'active' },
    { $set: { 'generations.0.projectionVersion': version } },
  );
