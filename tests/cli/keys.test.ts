import { ensureIndexes } from '../../shared/store/indexes.ts';
import { apiKey, store } from '../api/builders.ts';
import { mongoUrl, startApi, startStore, tokens } from '../api/test-api.ts';
import { generation, longAgo, useRebuild } from '../rebuild/fixture.ts';
import { runCli } from '../support/run-cli.ts';
import { useOpened } from '../support/use-opened.ts';
import { statusOf } from './status-of.ts';

describe('blocked keys', () => {
  let nowMs = 1_000;
  const testStore = useOpened(async () => {
    const opened = await startStore();
    const options = { nowMs: () => nowMs };
    const replicas = [await startApi(opened, options), await startApi(opened, options)];
    const close = async () => {
      for (const replica of replicas) await replica.close();
      await opened.close();
    };
    return { ...opened, replicas, close };
  });

  const keysAs = (OPERATOR: string | undefined, ...args: string[]) =>
    runCli({ MONGODB_URL: mongoUrl(), DATABASE_NAME: testStore.name, OPERATOR }, ['keys', ...args]);
  const keys = (...args: string[]) => keysAs(undefined, ...args);
  /** The status of a request with the token to each replica. */
  const statuses = async (token: string) => {
    const requests = testStore.replicas.map(({ get }) => get('/v1/tickets', { token }));
    const answers = await Promise.all(requests);
    return answers.map(({ status }) => status);
  };

  test('keys block and keys unblock take effect on every replica within six seconds', async () => {
    expect(await statuses(tokens.a)).toEqual([200, 200]);
    const blocked = await keys('block', 'key_a', '--why', 'leaked');
    expect(blocked).toMatchObject({ code: 0, errors: '' });
    expect(blocked.text).toMatch(/^key_a of org_a is blocked since \S+ by \S+@\S+ \(leaked\)/);
    nowMs += 6_000;
    expect(await statuses(tokens.a)).toEqual([401, 401]);
    expect(await statuses(tokens.b)).toEqual([200, 200]);

    expect((await keys('block', 'key_a', '--why', 'again')).text).toContain('(leaked)');
    expect(await keys('unblock', 'key_a')).toMatchObject({ code: 0, text: 'key_a is no longer blocked' });
    nowMs += 6_000;
    expect(await statuses(tokens.a)).toEqual([200, 200]);
  });

  test('a blocked token stays refused for all its keys although the blocked key is deleted', async () => {
    const token = 'svc_live_leaked';
    const key = (id: string) => apiKey(token, { id });
    await store(testStore.database, 'apiKey', [key('key_leaked1'), key('key_leaked2')]);
    expect(await statuses(token)).toEqual([200, 200]);
    await keys('block', 'key_leaked1', '--why', 'leaked');
    nowMs += 6_000;
    expect(await statuses(token)).toEqual([401, 401]);
    const documents = testStore.database.collection<{ _id: string; state?: object }>('apiKeys');
    const deletion = { $unset: { state: '' as const }, $set: { deletedAt: new Date() } };
    await documents.updateOne({ _id: 'key_leaked1' }, deletion);
    nowMs += 6_000;
    expect(await statuses(token)).toEqual([401, 401]);
    const { text } = await keys('list');
    expect(text).toMatch(/^key_leaked1 .*blocked since/m);
    expect(text).toMatch(/^key_leaked2 .*its token is refused/m);
    expect(text).not.toMatch(/[0-9a-f]{64}/i);
    await keys('unblock', 'key_leaked1');
    nowMs += 6_000;
    expect(await statuses(token)).toEqual([200, 200]);
    await documents.deleteMany({ _id: { $in: ['key_leaked1', 'key_leaked2'] } });
  });

  test('keys list prints every key with its state but without its token', async () => {
    await keysAs('ann', 'block', 'key_b', '--why', 'leaked');
    const { text } = await keys('list');
    const limitAndName = 'default limit {2}.+$';
    for (const state of [
      'key_a {2}org_a {2}live {2}active {2}',
      'key_b {2}org_b {2}live {2}blocked since \\S+ by ann \\(leaked\\) {2}',
      'key_c {2}org_a {2}live {2}archived since 2026-01-01T00:00:00.000Z {2}',
    ])
      expect(text).toMatch(new RegExp(`^${state}${limitAndName}`, 'm'));
    const { text: json } = await keys('list', '--org', 'org_b', '--json');
    expect(JSON.parse(json)).toEqual([
      {
        id: 'key_b',
        orgId: 'org_b',
        mode: 'live',
        name: expect.any(String) as string,
        rateLimit: null,
        archivedAt: null,
        blocked: { at: expect.any(String) as string, by: 'ann', why: 'leaked' },
        isTokenShared: false,
      },
    ]);
    expect(text + json).not.toMatch(/sha256|[0-9a-f]{64}/i);
  });

  test('keys unblock accepts a blocked key that was deleted', async () => {
    await store(testStore.database, 'apiKey', [apiKey('svc_live_e', { id: 'key_e' }, { orgId: 'org_e' })]);
    await keys('block', 'key_e', '--why', 'leaked');
    await testStore.database.collection<{ _id: string }>('apiKeys').deleteOne({ _id: 'key_e' });
    expect((await keys('list', '--org', 'org_e')).text).toContain(
      'not in the served generation, blocked since',
    );
    expect((await keys('unblock', 'key_e')).code).toBe(0);
    expect((await keys('list', '--org', 'org_e')).text).toBe('no keys');
  });

  test.each([
    { command: 'block key_x --why leaked', error: 'keys block failed: there is no key key_x' },
    { command: 'unblock key_c', error: 'keys unblock failed: key key_c is not blocked' },
  ])('keys $command exits with code 1 and names the reason', async ({ command, error }) => {
    const errors = `${error}; see: npx support-cli keys list\n`;
    expect(await keys(...command.split(' '))).toMatchObject({ code: 1, text: '', errors });
  });
});

describe('keys of two generations', () => {
  const rebuild = useRebuild();

  test('a rollback to older data restores archived keys but no blocked key', async () => {
    const served = { client: rebuild.mongo, name: rebuild.name };
    const statuses = async () => ({
      archived: await statusOf(served, 'svc_live_archived'),
      blocked: await statusOf(served, 'svc_live_blocked'),
    });
    // The command takes MongoDB's time.
    const since = new Date(0);
    await rebuild.storeGenerations([generation(1, 'standby', { since }), generation(2, 'active')]);
    await rebuild.control.collection('generations').updateOne({}, { $set: { since } });
    for (const number of [1, 2]) {
      await ensureIndexes(rebuild.databaseOf(number));
      const archivedAt = number === 2 ? '2026-01-01T00:00:00Z' : null;
      await store(rebuild.databaseOf(number), 'apiKey', [
        apiKey('svc_live_archived', { id: 'key_archived', archivedAt }),
        apiKey('svc_live_blocked', { id: 'key_blocked', archivedAt }),
      ]);
    }
    const cli = (...args: string[]) => runCli({ ...rebuild.variables, LOG_LEVEL: 'error' }, args);
    expect((await cli('keys', 'block', 'key_blocked', '--why', 'leaked')).code).toBe(0);
    expect(await statuses()).toEqual({ archived: 401, blocked: 401 });
    await rebuild.setWatermark(1, longAgo);
    const refused = await cli('rebuild', 'rollback', '1', '--timeout', '1');
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.text).toMatch(
      /\(keys archived since then work again\)\n.*\n +or accept it: npx support-cli accept older 1 --why <reason>\n/,
    );
    expect(await cli('accept', 'older', '1', '--why', 'tickets are wrong')).toMatchObject({ code: 0 });
    const rolledBack = await cli('rebuild', 'rollback', '1');
    expect(rolledBack).toMatchObject({ code: 0 });
    expect(rolledBack.text).toContain('generation 1 is served');
    expect(await statuses()).toEqual({ archived: 200, blocked: 401 });
  });
});
