import { createHash } from 'node:crypto';
import { findCallers } from '../../services/api/auth/api-key-cache.ts';
import { readOptions } from '../../services/api/store/deadline.ts';
import type { ReadSnapshot } from '../../services/api/store/read-snapshot.ts';
import * as build from './builders.ts';
import { createMongo } from '../../shared/store/connection.ts';
import { monitorCommands } from '../support/monitor-commands.ts';
import { listOf, mongoUrl, startApi, useApi } from './test-api.ts';

const twice = 'svc_live_twice';
const sha256 = (token: string) => createHash('sha256').update(token).digest('hex');
const tokens = Array.from({ length: 20 }, (_, index) => `svc_live_many${index}`);

const api = useApi({
  ticket: [build.ticket({ id: 'ti_1' }), build.ticket({ id: 'ti_b' }, { orgId: 'org_b' })],
  apiKey: [
    build.apiKey(twice, { id: 'key_1', archivedAt: build.at }),
    build.apiKey(twice, { id: 'key_2' }, { orgId: 'org_b' }),
    build.apiKey(twice, { id: 'key_3' }),
    ...tokens.map((token, index) => build.apiKey(token, { id: `key_many${index}` })),
  ],
});

it('of the keys with one token, the first active one by id is used', async () => {
  expect(listOf(await api.get('/v1/tickets', { token: twice })).data.map(({ id }) => id)).toEqual(['ti_b']);
});

it('one look-up finds all its keys, however many', async () => {
  const { control, database } = api.store;
  const snapshot = { authDatabase: database } as ReadSnapshot;
  const callers = await findCallers(control, snapshot, tokens.map(sha256), readOptions());
  expect(tokens.map((token) => callers.get(sha256(token))?.keyId)).toEqual(
    tokens.map((_, index) => `key_many${index}`),
  );
});

it('keys are looked up on connections of their own, so that slow reads of data delay no key', async () => {
  const clients = ['data', 'auth'].map((name) => {
    const client = monitorCommands(createMongo(mongoUrl(), name));
    const finds: unknown[] = [];
    client.on('commandStarted', ({ command }) => finds.push(command.find));
    return { client, finds };
  });
  const [data, auth] = clients as [(typeof clients)[0], (typeof clients)[0]];
  const other = await startApi({ ...api.store, client: data.client, authClient: auth.client });
  const { status } = await other.get('/v1/tickets');
  await other.close();
  for (const { client } of clients) await client.close();
  expect(status).toBe(200);
  expect(data.finds.filter((collection) => collection !== undefined)).toEqual(['tickets']);
  expect(auth.finds).toEqual(expect.arrayContaining(['apiKeys', 'blocked_keys', 'watermarks']));
});
