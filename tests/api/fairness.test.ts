import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { ask, begin } from './requests.ts';
import { eventually } from '../support/eventually.ts';
import { useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { mongoUrl, tokens } from './test-api.ts';

/** A key that no replica has cached. */
const newToken = 'svc_live_newnewnewnewnew1';

const children = useApiProcesses({
  ticket: [
    ...['ti_slow', 'ti_1'].map((id) => build.ticket({ id })),
    build.ticket({ id: 'ti_b' }, { orgId: 'org_b' }),
  ],
  apiKey: [build.apiKey(newToken, { id: 'key_new' }, { orgId: 'org_b' })],
});
const proxy = createStoreProxy(mongoUrl());
let port: number;

beforeAll(async () => {
  port = await proxy.listen(0);
});
afterEach(() => proxy.release());
afterAll(() => proxy.cut());

describe.each([
  ['', 20],
  ['maxPoolSize=3', 3],
])('with the pool of mongodb://…&%s', (option, poolSize) => {
  // Each list is a query; requests by id share queries, and start another one when the last is overdue.
  it.each([
    ['/v1/tickets?sort=createdAt&createdAt[gte]=2001-01-01', '2001-01-01', poolSize - 2],
    ['/v1/tickets/ti_slow', 'ti_slow', Math.min(2, poolSize - 2)],
  ])(
    'slow reads of %s leave connections to others, and to lookups of new keys',
    async (path, text, queriesMin) => {
      const child = await children.startServing({ MONGODB_URL: proxiedUrl(port, option) });
      proxy.trouble.holding = text;
      // The proxy holds the reads of these requests.
      const slow = Array.from({ length: 60 }, () => begin(child, path, { secure: false }));
      // Its documents are small, so it may use all connections that one key may have.
      await eventually(async () => proxy.heldCount() >= queriesMin);
      for (const token of [tokens.b, newToken]) {
        const headers = { Authorization: `Bearer ${token}` };
        const answer = await ask(child, '/v1/tickets/ti_b', { headers });
        expect([token, answer.status]).toEqual([token, 200]);
      }
      expect(proxy.heldCount()).toBeLessThan(poolSize);
      proxy.release();
      const answers = await Promise.all(slow);
      expect(answers.map((answer) => answer.resume().statusCode)).toEqual(slow.map(() => 200));
    },
  );
});
