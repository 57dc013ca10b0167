import type { CreatedKey } from '../../services/operations/keys/create-key.ts';
import { startApi } from '../api/test-api.ts';
import { runCli } from '../support/run-cli.ts';
import { useProjector } from '../support/use-projector.ts';

describe('keys create', () => {
  const { environment, applied, cli, find, deadLetters } = useProjector();

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

    const api = await startApi({ client: environment.mongo, name: environment.name });
    try {
      const status = async (bearer: string) => (await api.get('/v1/tickets', { token: bearer })).status;
      expect([await status(token), await status(`${token}0`)]).toEqual([200, 401]);
    } finally {
      await api.close();
    }
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

  test.each([
    [['keys', 'create', '--org', 'org_1', '--name', ' '], /A name has 1 to 1024 characters/],
    [['keys', 'create', '--org', 'org_1', '--mode', 'dev'], /live, test/],
  ])('%j is a usage error', async (args, error) => {
    expect(await cli(...args)).toEqual({ code: 2, text: '', errors: expect.stringMatching(error) as string });
  });
});
