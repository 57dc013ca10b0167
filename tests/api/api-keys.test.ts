import { createHash } from 'node:crypto';
import { findCallers } from '../../services/api/auth/api-key-cache.ts';
import { readOptions } from '../../services/api/store/deadline.ts';
import type { ReadSnapshot } from '../../services/api/store/read-snapshot.ts';
import { blockedKeys } from '../../shared/control/blocked-keys.ts';
import { createMongo } from '../../shared/store/connection.ts';
import { monitorCommands } from '../support/monitor-commands.ts';
import * as build from './builders.ts';
import { errorOf, listOf, mongoUrl, startApi, useApi } from './test-api.ts';

const sha256 = (token: string) => createHash('sha256').update(token).digest('hex');
const archived = { archivedAt: build.at };
const ofB = { orgId: 'org_b' };

/** Tokens of one key each. */
const owned = Array.from({ length: 20 }, (_, index) => {
  const token = `svc_live_many${index}`;
  return { token, hash: sha256(token), caller: { keyId: `key_many${index}`, orgId: 'org_a' } };
});

/** Several keys with one token. */
const manyKeys = (token: string, length: number, fields: object) =>
  Array.from({ length }, (_, index) => {
    const id = `key_${token}${String(index).padStart(3, '0')}`;
    return build.apiKey(token, { id, ...fields });
  });

const api = useApi({
  ticket: [build.ticket({ id: 'ti_1' }), build.ticket({ id: 'ti_b' }, ofB)],
  apiKey: [
    build.apiKey('svc_live_revoked', { id: 'key_r1' }),
    build.apiKey('svc_live_revoked', { id: 'key_r2', ...archived }),
    build.apiKey('svc_live_taken', { id: 'key_t1' }, ofB),
    build.apiKey('svc_live_taken', { id: 'key_t2' }),
    build.apiKey('svc_live_foreign', { id: 'key_f1', ...archived }, ofB),
    build.apiKey('svc_live_foreign', { id: 'key_f2' }),
    build.apiKey('svc_live_twice', { id: 'key_w2' }),
    build.apiKey('svc_live_twice', { id: 'key_w1' }),
    build.apiKey('svc_live_blocked', { id: 'key_b1' }),
    build.apiKey('svc_live_blocked', { id: 'key_b2' }),
    build.apiKey('svc_live_deleted', { id: 'key_d2' }),
    ...manyKeys('svc_live_hidden', 25, archived),
    build.apiKey('svc_live_hidden', { id: 'key_zzz' }),
    ...manyKeys('svc_live_crowd', 25, {}),
    ...owned.map(({ token, caller }) => build.apiKey(token, { id: caller.keyId })),
  ],
});

beforeAll(async () => {
  const block = { orgId: 'org_a', at: new Date(), by: 'ann@host', why: 'leaked' };
  const deleted = { ...block, _id: sha256('svc_live_deleted'), keyId: 'key_d1' };
  await blockedKeys(api.store.control).insertMany([{ ...block, _id: 'key_b2' }, deleted]);
});

/** The callers with these hashes of tokens, in one look-up. */
function lookUp(hashes: string[]) {
  const { control, database } = api.store;
  const snapshot = { authDatabase: database } as ReadSnapshot;
  return findCallers(control, snapshot, hashes, readOptions());
}

const refusals = async () => {
  const { values } = await api.metrics.authFailuresCounted.get();
  return values.find(({ labels }) => labels.reason === 'shared_token')?.value ?? 0;
};

test.each([
  ['also belongs to an archived key', 'svc_live_revoked'],
  ['also belongs to a key of another organization', 'svc_live_taken'],
  ['also belongs to an archived key of another organization', 'svc_live_foreign'],
  ['also belongs to a blocked key', 'svc_live_blocked'],
  ['belonged to a blocked key that was deleted since', 'svc_live_deleted'],
  ['also belongs to 25 archived keys with lower ids', 'svc_live_hidden'],
  ['belongs to more keys than one look-up examines', 'svc_live_crowd'],
])('a token that %s is refused and counted', async (_, token) => {
  const before = await refusals();
  const answer = await api.get('/v1/tickets', { token });
  expect({ status: answer.status, code: errorOf(answer).code }).toEqual({
    status: 401,
    code: 'invalid_api_key',
  });
  // The answer that the replica remembers is counted, too.
  expect((await api.get('/v1/tickets', { token })).status).toBe(401);
  expect((await refusals()) - before).toBe(2);
});

test('the first active key by id represents a token of several keys of one organization', async () => {
  const hash = sha256('svc_live_twice');
  const callers = await lookUp([hash]);
  expect(callers.get(hash)).toEqual({ keyId: 'key_w1', orgId: 'org_a' });
  const answer = await api.get('/v1/tickets', { token: 'svc_live_twice' });
  expect(listOf(answer).data.map(({ id }) => id)).toEqual(['ti_1']);
});

test('a token of many keys does not hide the other tokens of its look-up', async () => {
  const hidden = sha256('svc_live_hidden');
  const crowd = sha256('svc_live_crowd');
  const callers = await lookUp([hidden, crowd, ...owned.map(({ hash }) => hash)]);
  expect([callers.get(hidden), callers.get(crowd)]).toEqual(['shared_token', 'shared_token']);
  for (const { hash, caller } of owned) expect(callers.get(hash)).toEqual(caller);
  // A reply for two tokens does not reach the second one.
  for (const { hash, caller } of owned) {
    const callersOfTwo = await lookUp([hidden, hash]);
    expect([...callersOfTwo.values()]).toEqual(['shared_token', caller]);
  }
});

test('one look-up finds the keys of twenty tokens', async () => {
  const callers = await lookUp(owned.map(({ hash }) => hash));
  expect(owned.map(({ hash }) => callers.get(hash))).toEqual(owned.map(({ caller }) => caller));
});

/** A client, and the collections that it queries; undefined for each other command. */
function monitoredClient(name: string) {
  const client = monitorCommands(createMongo(mongoUrl(), name));
  const finds: unknown[] = [];
  client.on('commandStarted', ({ command }) => finds.push(command.find));
  return { client, finds };
}

test('the look-up of keys has its own connections, so slow reads of data do not delay it', async () => {
  const data = monitoredClient('data');
  const auth = monitoredClient('auth');
  const replica = await startApi({ ...api.store, client: data.client, authClient: auth.client });
  const { status } = await replica.get('/v1/tickets');
  await replica.close();
  for (const { client } of [data, auth]) await client.close();
  expect(status).toBe(200);
  expect(data.finds.filter((collection) => collection !== undefined)).toEqual(['tickets']);
  expect(auth.finds).toEqual(expect.arrayContaining(['apiKeys', 'blocked_keys', 'watermarks']));
});
