import { get, type IncomingMessage } from 'node:http';
import { createStoreProxy } from '../support/store-proxy.ts';
import { ask } from './requests.ts';
import { eventually } from '../support/eventually.ts';
import type { ApiProcess } from './api-process.ts';
import { openApiProcesses, type ApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { mongoUrl, tokens } from './test-api.ts';

/** A key that no replica has cached. */
const newToken = 'svc_live_newnewnewnewnew1';

let children: ApiProcesses;
const proxy = createStoreProxy(mongoUrl());
let port: number;

beforeAll(async () => {
  children = await openApiProcesses();
  const { database } = children.store;
  await build.store(database, 'ticket', [build.ticket({ id: 'ti_slow' }), build.ticket({ id: 'ti_1' })]);
  await build.store(database, 'ticket', [build.ticket({ id: 'ti_b' }, { orgId: 'org_b' })]);
  await build.store(database, 'apiKey', [build.apiKey(newToken, { id: 'key_new' }, { orgId: 'org_b' })]);
  port = await proxy.listen(0);
}, 120_000);

afterEach(() => proxy.release());
afterAll(async () => {
  await proxy.cut();
  await children.close();
}, 60_000);

/** Requests the ticket whose reads the proxy delays. */
const askSlow = (child: ApiProcess) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${tokens.a}`, 'x-forwarded-proto': 'https' };
    const options = {
      host: '127.0.0.1',
      port: child.port,
      path: '/v1/tickets/ti_slow',
      agent: false,
      headers,
    };
    get(options, (response) => resolve(response.resume())).on('error', reject);
  });

describe.each([
  ['', 20],
  ['&maxPoolSize=3', 3],
])('with the pool of mongodb://…%s', (option, poolSize) => {
  it('an organization with slow reads leaves connections to the others, and to lookups of new keys', async () => {
    const url = `mongodb://127.0.0.1:${port}/?directConnection=true${option}`;
    const child = await children.startServing({ MONGODB_URL: url });
    proxy.trouble.holding = 'ti_slow';
    const slow = Array.from({ length: 60 }, () => askSlow(child));
    // Its documents are small, so it uses all connections that one organization may have.
    await eventually(async () => proxy.heldCount() === poolSize - 1);
    for (const token of [tokens.b, newToken]) {
      const answer = await ask(child, '/v1/tickets/ti_b', { headers: { Authorization: `Bearer ${token}` } });
      expect([token, answer.status]).toEqual([token, 200]);
    }
    expect(proxy.heldCount()).toBe(poolSize - 1);
    proxy.release();
    const answers = await Promise.all(slow);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(slow.map(() => 200));
  }, 60_000);
});
