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

/** A request of the organization whose reads the proxy holds. */
const askSlow = (child: ApiProcess, path: string) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${tokens.a}`, 'x-forwarded-proto': 'https' };
    const options = {
      host: '127.0.0.1',
      port: child.port,
      path,
      agent: false,
      headers,
    };
    get(options, (response) => resolve(response.resume())).on('error', reject);
  });

describe.each([
  ['', 20],
  ['&maxPoolSize=3', 3],
])('with the pool of mongodb://…%s', (option, poolSize) => {
  // Each list is a query; requests by id share queries, and start another one when the last is overdue.
  it.each([
    ['/v1/tickets?sort=createdAt&createdAt[gte]=2001-01-01', '2001-01-01', poolSize - 1],
    ['/v1/tickets/ti_slow', 'ti_slow', 2],
  ])(
    'slow reads of %s leave connections to others, and to lookups of new keys',
    async (path, text, queriesMin) => {
      const url = `mongodb://127.0.0.1:${port}/?directConnection=true${option}`;
      const child = await children.startServing({ MONGODB_URL: url });
      proxy.trouble.holding = text;
      const slow = Array.from({ length: 60 }, () => askSlow(child, path));
      // Its documents are small, so it may use all connections that one organization may have.
      await eventually(async () => proxy.heldCount() >= queriesMin);
      for (const token of [tokens.b, newToken]) {
        const headers = { Authorization: `Bearer ${token}` };
        const answer = await ask(child, '/v1/tickets/ti_b', { headers });
        expect([token, answer.status]).toEqual([token, 200]);
      }
      expect(proxy.heldCount()).toBeLessThan(poolSize);
      proxy.release();
      const answers = await Promise.all(slow);
      expect(answers.map(({ statusCode }) => statusCode)).toEqual(slow.map(() => 200));
    },
    60_000,
  );
});
