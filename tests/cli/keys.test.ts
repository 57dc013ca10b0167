import type { CreatedKey } from '../../services/operations/keys/create-key.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { apiKey, store } from '../api/builders.ts';
import { mongoUrl, startApi, startStore, tokens } from '../api/test-api.ts';
import { readLog } from '../faults/read-log.ts';
import { generation, longAgo, useRebuild } from '../rebuild/fixture.ts';
import { created } from '../support/entities.ts';
import { runCli } from '../support/run-cli.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';

/** The status of a request to an API that remembers no key. */
async function statusOf(served: Parameters<typeof startApi>[0], token: string): Promise<number> {
  const api = await startApi(served);
  try {
    return (await api.get('/v1/tickets', { token })).status;
  } finally {
    await api.close();
  }
}

describe('keys', () => {
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
  const statuses = (token: string) =>
    Promise.all(testStore.replicas.map(async ({ get }) => (await get('/v1/tickets', { token })).status));

  test('block and unblock take effect on every replica within six seconds, and only on that key', async () => {
    expect(await statuses(tokens.a)).toEqual([200, 200]);
    const blocked = await keys('block', 'key_a', '--why', 'leaked');
    expect(blocked).toMatchObject({ code: 0, errors: '' });
    expect(blocked.text).toMatch(/^key_a of org_a is blocked since \S+ by \S+@\S+ \(leaked\)/);
    nowMs += 6_000;
    expect(await statuses(tokens.a)).toEqual([401, 401]);
    expect(await statuses(tokens.b)).toEqual([200, 200]);

    expect((await keys('block', 'key_a', '--why', 'again')).text).toContain('(leaked)');
    expect(await keys('unblock', 'key_a')).toMatchObject({ code: 0, text: 'key_a is not blocked any more' });
    nowMs += 6_000;
    expect(await statuses(tokens.a)).toEqual([200, 200]);
  });

  test('the token of a blocked key stays refused, whatever other key has it, once its key is deleted, too', async () => {
    const token = 'svc_live_leaked';
    const key = (id: string) => apiKey(token, { id });
    const documents = testStore.database.collection<{ _id: string; state?: object }>('apiKeys');
    await store(testStore.database, 'apiKey', [key('key_leaked1'), key('key_leaked2')]);
    expect(await statuses(token)).toEqual([200, 200]);
    await keys('block', 'key_leaked1', '--why', 'leaked');
    nowMs += 6_000;
    expect(await statuses(token)).toEqual([401, 401]);
    await documents.updateOne(
      { _id: 'key_leaked1' },
      { $unset: { state: '' }, $set: { deletedAt: new Date() } },
    );
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

  test('list prints every key and its state, and nothing of its token', async () => {
    await keysAs('ann', 'block', 'key_b', '--why', 'leaked');
    const { text } = await keys('list');
    const rest = 'default limit {2}.+$';
    for (const line of [
      'key_a {2}org_a {2}live {2}active {2}',
      'key_b {2}org_b {2}live {2}blocked since \\S+ by ann \\(leaked\\) {2}',
      'key_c {2}org_a {2}live {2}archived since 2026-01-01T00:00:00.000Z {2}',
    ])
      expect(text).toMatch(new RegExp(`^${line}${rest}`, 'm'));
    const json = (await keys('list', '--org', 'org_b', '--json')).text;
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

  test('a blocked key that is deleted is still listed, and can be unblocked', async () => {
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
    [
      ['block', 'key_x', '--why', 'leaked'],
      'keys block failed: there is no key key_x; see: npx support-cli keys list',
    ],
    [['unblock', 'key_c'], 'keys unblock failed: key key_c is not blocked; see: npx support-cli keys list'],
  ])('%j exits 1 and says why', async (args, error) => {
    expect(await keys(...args)).toMatchObject({ code: 1, text: '', errors: `${error}\n` });
  });
});

describe('two generations', () => {
  const rebuild = useRebuild();

  test('a rollback that accepts older data brings back keys that were archived since, but no blocked key', async () => {
    const served = { client: rebuild.mongo, name: rebuild.name };
    const statuses = async () => ({
      archived: await statusOf(served, 'svc_live_archived'),
      blocked: await statusOf(served, 'svc_live_blocked'),
    });
    // The command takes MongoDB's time.
    const since = new Date(0);
    await rebuild.given([generation(1, 'standby', { since }), generation(2, 'active')]);
    await rebuild.control.collection('generations').updateOne({}, { $set: { since } });
    for (const number of [1, 2]) {
      await ensureIndexes(rebuild.databaseOf(number));
      const archivedAt = number === 2 ? '2026-01-01T00:00:00Z' : null;
      await store(rebuild.databaseOf(number), 'apiKey', [
        apiKey('svc_live_archived', { id: 'key_archived', archivedAt }),
        apiKey('svc_live_blocked', { id: 'key_blocked', archivedAt }),
      ]);
    }
    const cli = (...args: string[]) => runCli({ ...rebuild.environment, LOG_LEVEL: 'error' }, args);
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

describe('keys create', () => {
  const { environment, applied, cli, find, deadLetters, publish } = useProjector();
  const status = (token: string) => statusOf({ client: environment.mongo, name: environment.name }, token);

  test('prints a token for the data of its organization alone, which is stored nowhere', async () => {
    const command = 'keys create --org org_new --name Export --rate-limit 300 --json'.split(' ');
    const { text, errors, code } = await cli(...command);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    const { id, token } = JSON.parse(text) as CreatedKey;
    expect(token).toMatch(/^svc_live_[0-9a-f]{48}$/);
    await applied();
    expect(await deadLetters()).toEqual([]);
    const stored = await find('apiKey', id);
    const state = { name: 'Export', mode: 'live', rateLimit: 300 };
    expect(stored).toMatchObject({ orgId: 'org_new', version: 1, state });
    expect(JSON.stringify(stored)).not.toContain(token);
    expect((await cli('keys', 'list', '--org', 'org_new')).text).toBe(
      `${id}  org_new  live  active  limit 300  Export`,
    );
    expect([await status(token), await status(`${token}0`)]).toEqual([200, 401]);
  });

  test('makes keys that keys archive ends, but only with --yes, and no key of the source system', async () => {
    const archive = async (...args: string[]) => cli('keys', 'archive', ...args);
    const { text } = await cli('keys', 'create', '--org', 'org_new', '--json');
    const { id, token } = JSON.parse(text) as CreatedKey;
    await publish(created('apiKey', 'key_source', {}, 2));
    await applied();
    const before = await find('apiKey', id);
    expect(await archive(id)).toMatchObject({ code: 2, errors: expect.stringContaining('--yes') as string });
    expect(await archive(id, '--dry-run')).toMatchObject({
      code: 0,
      text: `${id} of org_new would be archived. Dry run: nothing was changed`,
    });
    await applied();
    expect({ key: await find('apiKey', id), status: await status(token) }).toEqual({
      key: before,
      status: 200,
    });
    expect(await archive(id, '--yes')).toMatchObject({ code: 0 });
    await applied();
    expect(await find('apiKey', id)).toMatchObject({
      version: 2,
      state: { ...before?.state, archivedAt: expect.any(Date) as Date },
    });
    expect(await status(token)).toBe(401);
    // The event has the instant of the archiving: with that of the creation it would count as late.
    const { archivedAt } = (await find('apiKey', id))?.state as { archivedAt: Date };
    const times = (await readLog(environment)).flatMap(({ event }) => (event?.id === id ? [event.time] : []));
    expect(times.at(-1)).toEqual(archivedAt);
    // and a second time it says since when
    expect((await archive(id, '--yes')).text).toMatch(/^key_\w+ of org_new is archived since 20\S+Z$/);
    expect(await archive('key_source', '--yes')).toMatchObject({
      code: 1,
      errors: expect.stringMatching(
        /version 2, so "keys create" did not make it: .* keys block key_source\n$/,
      ) as string,
    });
    expect(await archive('key_x')).toMatchObject({
      code: 1,
      errors: 'keys archive failed: there is no key key_x; see: npx support-cli keys list\n',
    });
    expect(await archive('key_\nx')).toMatchObject({
      errors: 'keys archive failed: there is no key key_\\u000ax; see: npx support-cli keys list\n',
    });
    expect(await deadLetters()).toEqual([]);
  });

  test('archive asks on one line, whatever the name of the key holds, and No changes nothing', async () => {
    await publish(created('apiKey', 'key_hostile', { name: 'Export\n of another org\x1b[8m' }));
    await applied();
    const questions: string[] = [];
    const args = ['keys', 'archive', 'key_hostile'];
    const { code, text } = await runCli(environment.environment, args, async (question) => {
      questions.push(question);
      return false;
    });
    expect(questions).toEqual([
      String.raw`Archive the key key_hostile of "org_1", named "Export\n of another org\u001b[8m", for good? [y/N] `,
    ]);
    expect({ code, text }).toEqual({
      code: 1,
      text: expect.stringMatching(/^key_hostile of \S+ was not archived$/) as string,
    });
  });

  test('begins the token as KEY_PREFIX and --mode say', async () => {
    const args = ['keys', 'create', '--org', 'org_new', '--mode', 'test'];
    const { code, text } = await runCli({ ...environment.environment, KEY_PREFIX: 'acme' }, args);
    expect({ code, text }).toEqual({
      code: 0,
      text: expect.stringMatching(/^key_\w+ of org_new: acme_test_[0-9a-f]{48}$/) as unknown,
    });
  });

  test('names the topic that does not accept the key, whose token it has printed', async () => {
    const settings = { ...environment.environment, TOPIC_PREFIX: `${environment.name}-absent.` };
    const { code, text, errors } = await runCli(settings, ['keys', 'create', '--org', 'org_new']);
    expect(code).toBe(1);
    const [, id = ''] = /^(key_\w+) of org_new: svc_live_\w+$/.exec(text) ?? [];
    expect(errors).toMatch(
      new RegExp(`^keys create failed: \\S+-absent\\.api-keys did not confirm the key ${id}: .+\\n$`),
    );
  });
});
