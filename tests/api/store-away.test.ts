import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, codeOf, eventually, writeCertificate } from './ask.ts';
import { startChild, type Child } from './child.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import * as given from './given.ts';
import { mongoUrl, startStore, type TestStore } from './harness.ts';

let store: TestStore;
let folder: string;
let tls: Record<string, string>;
const running: Child[] = [];

const start = async (settings: Record<string, string>) => {
  const child = await startChild({ MONGODB_URL: mongoUrl(), DATABASE_NAME: store.name, ...settings });
  running.push(child);
  return child;
};

beforeAll(async () => {
  store = await startStore();
  await given.store(store.database, 'ticket', [given.ticket({ id: 'ti_1' })]);
  folder = mkdtempSync(join(tmpdir(), 'api-tests-'));
  tls = await writeCertificate(folder);
}, 120_000);

afterAll(async () => {
  for (const child of running) await child.stop();
  await store.close();
  rmSync(folder, { recursive: true });
}, 60_000);

describe('a store that comes and goes', () => {
  const { listen, cut } = createStoreProxy(mongoUrl());

  it('is 503 with Retry-After while away, and served again without a restart', async () => {
    const port = await listen(0);
    await cut();
    const child = await start({ ...tls, MONGODB_URL: proxiedUrl(port), ADMIN_PORT: '0' });
    const unavailable = async () => {
      const { status, headers, text } = await ask(child, '/v1/tickets');
      return status === 503 && headers['retry-after'] === '5' && codeOf(text) === 'service_unavailable';
    };
    const admin = () => Number(child.lines.find(({ msg }) => msg === 'admin listening')?.port);
    const ready = async () => (await fetch(`http://127.0.0.1:${admin()}/readyz`)).status;
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
    running.splice(running.indexOf(child), 1);
    await cut();
  }, 60_000);

  it('is not served before its indexes are there, and says which are missing', async () => {
    const other = await startStore();
    await other.database.collection('tickets').dropIndex('updated');
    const child = await start({ ...tls, DATABASE_NAME: other.name });
    await eventually(async () =>
      child.lines.some(({ reason }) => String(reason).includes('tickets.updated')),
    );
    expect((await ask(child, '/v1/tickets')).status).toBe(503);
    await other.database.createIndex(
      'tickets',
      { orgId: 1, byUpdated: 1, byCreated: 1 },
      { name: 'updated' },
    );
    await eventually(async () => (await ask(child, '/v1/tickets')).status === 200);
    await other.close();
  }, 60_000);
});
