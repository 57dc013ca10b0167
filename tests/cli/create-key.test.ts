import type { CreatedKey } from '../../services/operations/keys/create-key.ts';
import { startApi } from '../api/test-api.ts';
import { readLog } from '../faults/read-log.ts';
import { created } from '../support/entities.ts';
import { runCli } from '../support/run-cli.ts';
import { useProjector } from '../support/use-projector.ts';

describe('keys create', () => {
  const { environment, applied, cli, find, deadLetters, publish } = useProjector();
  /** The status of a request to an API that remembers no key. */
  const status = async (token: string) => {
    const api = await startApi({ client: environment.mongo, name: environment.name });
    try {
      return (await api.get('/v1/tickets', { token })).status;
    } finally {
      await api.close();
    }
  };

  test('prints a token that the API accepts, for the data of its organization only, and that is stored nowhere', async () => {
    const command = 'keys create --org org_new --name Export --json'.split(' ');
    const { text, errors, code } = await cli(...command);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    const { id, token } = JSON.parse(text) as CreatedKey;
    expect(token).toMatch(/^svc_live_[0-9a-f]{48}$/);
    await applied();
    expect(await deadLetters()).toEqual([]);
    const stored = await find('apiKey', id);
    expect(stored).toMatchObject({ orgId: 'org_new', version: 1, state: { name: 'Export', mode: 'live' } });
    expect(JSON.stringify(stored)).not.toContain(token);
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
    expect([await find('apiKey', id), await status(token)]).toEqual([before, 200]);
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
    expect(await deadLetters()).toEqual([]);
  });

  test('begins the token as KEY_PREFIX and --mode say', async () => {
    const args = ['keys', 'create', '--org', 'org_new', '--mode', 'test'];
    const { code, text } = await runCli({ ...environment.environment, KEY_PREFIX: 'acme' }, args);
    expect([code, text]).toEqual([0, expect.stringMatching(/^key_\w+ of org_new: acme_test_[0-9a-f]{48}$/)]);
  });

  test('names the topic that does not accept the key', async () => {
    const settings = { ...environment.environment, TOPIC_PREFIX: `${environment.name}-absent.` };
    const { code, text, errors } = await runCli(settings, ['keys', 'create', '--org', 'org_new']);
    expect([code, text]).toEqual([1, '']);
    expect(errors).toMatch(
      /^keys create failed: \S+-absent\.api-keys did not confirm the key key_\w+: .+\n$/,
    );
  });
});
