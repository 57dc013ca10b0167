import { type Db, MongoClient } from 'mongodb';
import { generationsOf, projectionVersion } from '../../shared/control/generations.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { withoutTimeLimits } from '../support/wrong-clock.ts';
import { useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { ask, begin, codeOf } from './requests.ts';
import { mongoUrl, startStore, type TestStore, tokens } from './test-api.ts';

/** A key that no replica has cached. */
const newToken = 'svc_live_newnewnewnewnew1';

const apis = useApiProcesses({
  ticket: [
    ...['ti_slow', 'ti_1'].map((id) => build.ticket({ id })),
    build.ticket({ id: 'ti_b' }, { orgId: 'org_b' }),
  ],
  apiKey: [build.apiKey(newToken, { id: 'key_new' }, { orgId: 'org_b' })],
});

/**
 * Starts a client during an outage, with the driver's own limit of 30 s for a connection. A service with a limit of 2 s
 * must recover before this client. This comparison holds on a busy machine, too.
 */
async function beginPatient() {
  const { listen, cut, trouble, silentCount } = createStoreProxy(mongoUrl());
  trouble.silent = true;
  const client = new MongoClient(proxiedUrl(await listen(), 'serverSelectionTimeoutMS=600000'));
  let isConnected = false;
  client.connect().then(
    () => {
      isConnected = true;
    },
    () => undefined,
  );
  await eventually(() => silentCount() > 0);
  return {
    endSilence: () => {
      trouble.silent = false;
    },
    isConnected: () => isConnected,
    close: () => client.close().finally(cut),
  };
}

describe('a store with outages', () => {
  const { listen, cut, trouble, silentCount } = createStoreProxy(mongoUrl());

  test('the API starts during an outage of the store and serves the store afterwards without a restart', async () => {
    const port = await listen();
    await cut();
    const api = await apis.start({ ...apis.tls, MONGODB_URL: proxiedUrl(port), ADMIN_PORT: '0' });
    const unavailable = async () => {
      const { status, headers, text } = await ask(api, '/v1/tickets');
      return status === 503 && headers['retry-after'] === '5' && codeOf(text) === 'service_unavailable';
    };
    const ready = async () => (await api.admin('/readyz')).status;
    expect(await unavailable()).toBe(true);
    expect((await ask(api, '/health')).status).toBe(200);
    expect((await ask(api, '/v1/tickets', { headers: { Authorization: 'Bearer x' } })).status).toBe(401);
    await eventually(async () => (await ready()) === 503);
    await listen(port);
    await eventually(async () => (await ask(api, '/v1/tickets/ti_1')).status === 200);
    await eventually(async () => (await ready()) === 200);
    expect(await api.stop()).toBe(0);
    await cut();
  });

  test('the API replaces connections that it began during an outage of the network', async () => {
    const url = proxiedUrl(await listen(), 'heartbeatFrequencyMS=500');
    const api = await apis.start({ ...apis.tls, MONGODB_URL: url });
    const status = async () => (await ask(api, '/v1/tickets')).status;
    await eventually(async () => (await status()) === 200);
    trouble.silent = true;
    const begun = silentCount();
    await eventually(async () => (await status()) === 503 && silentCount() >= begun + 3);
    const patient = await beginPatient();
    trouble.silent = false;
    patient.endSilence();
    await eventually(async () => (await status()) === 200);
    expect(patient.isConnected()).toBe(false);
    await patient.close();
    expect(await api.stop()).toBe(0);
    await cut();
  });

  test('the API answers 503 in time although the connection string raises the limits of the driver', async () => {
    const limits = ['serverSelectionTimeoutMS', 'connectTimeoutMS', 'heartbeatFrequencyMS'];
    const raised = limits.map((name) => `${name}=3600000`).join('&');
    const options = `${raised}&waitQueueTimeoutMS=0&serverMonitoringMode=poll&retryReads=false`;
    const api = await apis.start({ ...apis.tls, MONGODB_URL: proxiedUrl(await listen(), options) });
    const status = async () => (await ask(api, '/v1/tickets')).status;
    await eventually(async () => (await status()) === 200);
    trouble.silent = true;
    await eventually(async () => (await status()) === 503);
    trouble.silent = false;
    await api.stop();
    await cut();
  });

  test('the API answers 503 while its server is not the primary, because keys and data may be outdated', async () => {
    const api = await apis.start({ ...apis.tls, MONGODB_URL: proxiedUrl(await listen()), ADMIN_PORT: '0' });
    const status = async () => (await ask(api, '/v1/tickets')).status;
    await eventually(async () => (await status()) === 200);
    trouble.isDemoted = true;
    await eventually(async () => (await status()) === 503);
    await eventually(() =>
      api.log.some(({ reason }) => /is not the primary\. .*directConnection=true/.test(String(reason))),
    );
    trouble.isDemoted = false;
    await eventually(async () => (await status()) === 200);
    expect(await api.stop()).toBe(0);
    await cut();
  });

  test.each([
    {
      name: 'before its indexes exist',
      reason: 'tickets.updated',
      spoil: ({ database }: TestStore) => database.collection('tickets').dropIndex('updated'),
      repair: ({ database }: TestStore) => ensureIndexes(database),
    },
    {
      name: 'while an operator hides an index',
      reason: 'tickets.updated (hidden)',
      spoil: ({ database }: TestStore) => hideIndex(database, true),
      repair: ({ database }: TestStore) => hideIndex(database, false),
    },
    {
      name: 'while another release has filled it',
      reason: 'holds documents of projection version',
      spoil: (store: TestStore) => filledBy(store, projectionVersion + 1),
      repair: (store: TestStore) => filledBy(store, projectionVersion),
    },
  ])(
    'the API does not serve a store $name, and /readyz names the reason',
    async ({ reason, spoil, repair }) => {
      const otherStore = await startStore();
      await spoil(otherStore);
      const api = await apis.start({ ...apis.tls, DATABASE_NAME: otherStore.name, ADMIN_PORT: '0' });
      await eventually(async () => api.log.some((line) => String(line.reason).includes(reason)));
      expect((await ask(api, '/v1/tickets')).status).toBe(503);
      const readiness = await api.admin('/readyz');
      expect({ status: readiness.status, namesReason: (await readiness.text()).includes(reason) }).toEqual({
        status: 503,
        namesReason: true,
      });
      await repair(otherStore);
      await eventually(async () => (await ask(api, '/v1/tickets')).status === 200);
      await otherStore.close();
    },
  );
});

// Each list is a query; requests by id share queries, and start another query when the last query is overdue.
test.each([
  ['/v1/tickets?sort=createdAt&createdAt[gte]=2001-01-01', '2001-01-01'],
  ['/v1/tickets/ti_slow', 'ti_slow'],
])(
  'slow reads of %s leave connections to other organizations and to look-ups of new keys',
  async (path, text) => {
    const proxy = createStoreProxy(mongoUrl());
    const url = proxiedUrl(await proxy.listen(), 'maxPoolSize=3');
    // On a slow machine the last of the requests would otherwise wait for longer than a read may take.
    const api = await apis.startServing({ MONGODB_URL: url, ...withoutTimeLimits() });
    proxy.trouble.holding = text;
    // The proxy holds the reads of these requests. A key may use all connections but two.
    const slow = Array.from({ length: 60 }, () => begin(api, path));
    try {
      await eventually(() => proxy.heldCount() >= 1);
      for (const token of [tokens.b, newToken]) {
        const headers = { Authorization: `Bearer ${token}` };
        const answered = ask(api, '/v1/tickets/ti_b', { headers });
        const isServed = answered.then(({ status }) => status === 200 || notYet(status));
        // Otherwise a request that waits for the held reads would never end.
        await eventually(() => Promise.race([isServed, Promise.resolve(notYet(`${token} waits`))]));
      }
      expect(proxy.heldCount()).toBeLessThan(3);
    } finally {
      proxy.release();
    }
    const answers = await Promise.all(slow);
    expect(answers.map((answer) => answer.resume().statusCode)).toEqual(slow.map(() => 200));
    await api.stop();
    await proxy.cut();
  },
);

const hideIndex = (database: Db, hidden: boolean) =>
  database.command({ collMod: 'tickets', index: { name: 'updated', hidden } });

const filledBy = ({ control }: TestStore, version: number) =>
  generationsOf(control).updateOne(
    { _id: 'active' },
    { $set: { 'generations.0.projectionVersion': version } },
  );
