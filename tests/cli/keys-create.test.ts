import type { CreatedKey } from '../../services/operations/keys/create-key.ts';
import { readLog } from '../faults/read-log.ts';
import { created } from '../support/entities.ts';
import { containing, matching } from '../support/matchers.ts';
import { runCli } from '../support/run-cli.ts';
import { useProjector } from '../support/use-projector.ts';
import { statusOf } from './status-of.ts';

const { environment, applied, cli, find, deadLetters, publish } = useProjector();
const status = (token: string) => statusOf({ client: environment.mongo, name: environment.name }, token);

describe('keys create', () => {
  test('keys create prints a token of the organization and does not store the token', async () => {
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
    expect(await status(token)).toBe(200);
    expect(await status(`${token}0`)).toBe(401);
  });

  test('keys create prints a token that begins with KEY_PREFIX and the value of --mode', async () => {
    const args = ['keys', 'create', '--org', 'org_new', '--mode', 'test'];
    const { code, text } = await runCli({ ...environment.variables, KEY_PREFIX: 'acme' }, args);
    expect({ code, text }).toEqual({
      code: 0,
      text: matching(/^key_\w+ of org_new: acme_test_[0-9a-f]{48}$/),
    });
  });

  test('keys create names a topic that does not confirm the key', async () => {
    const settings = { ...environment.variables, TOPIC_PREFIX: `${environment.name}-absent.` };
    const { code, text, errors } = await runCli(settings, ['keys', 'create', '--org', 'org_new']);
    expect(code).toBe(1);
    const [, id = ''] = /^(key_\w+) of org_new: svc_live_\w+$/.exec(text) ?? [];
    expect(errors).toMatch(
      new RegExp(`^keys create failed: \\S+-absent\\.api-keys did not confirm the key ${id}: .+\\n$`),
    );
  });
});

describe('keys archive', () => {
  const archive = (...args: string[]) => cli('keys', 'archive', ...args);
  /** Creates a key with `keys create`, and waits until the projector has applied it. */
  const createKey = async () => {
    const { text } = await cli('keys', 'create', '--org', 'org_new', '--json');
    const { id, token } = JSON.parse(text) as CreatedKey;
    await applied();
    return { id, token, document: await find('apiKey', id) };
  };

  test('keys archive changes nothing in a dry run or without a confirmation', async () => {
    const { id, token, document } = await createKey();
    expect(await archive(id)).toMatchObject({ code: 2, errors: containing('--yes') });
    expect(await archive(id, '--dry-run')).toMatchObject({
      code: 0,
      text: `${id} of org_new would be archived. Dry run: nothing was changed`,
    });
    await applied();
    expect(await find('apiKey', id)).toEqual(document);
    expect(await status(token)).toBe(200);
  });

  test('keys archive keeps the time of the first archiving when an operator repeats it', async () => {
    const { id, token, document } = await createKey();
    expect(await archive(id, '--yes')).toMatchObject({ code: 0 });
    await applied();
    const archived = await find('apiKey', id);
    expect(archived).toMatchObject({
      version: 2,
      state: { ...document?.state, archivedAt: expect.any(Date) as Date },
    });
    expect(await status(token)).toBe(401);
    // If the event had the time of the creation, the watermark rule would count it as late.
    const log = await readLog(environment);
    const archiving = log.map(({ event }) => event).findLast((event) => event?.id === id);
    expect(archiving?.time).toEqual(archived?.state?.archivedAt);
    expect((await archive(id, '--yes')).text).toMatch(/^key_\w+ of org_new is archived since 20\S+Z$/);
    expect(await deadLetters()).toEqual([]);
  });

  test('keys archive refuses a key of the source system', async () => {
    await publish(created('apiKey', 'key_source', {}, 2));
    await applied();
    expect(await archive('key_source', '--yes')).toMatchObject({
      code: 1,
      errors: matching(/version 2, so "keys create" did not make it: .* keys block key_source\n$/),
    });
    expect(await deadLetters()).toEqual([]);
  });

  test.each([
    ['key_x', 'key_x'],
    ['key_\nx', 'key_\\u000ax'],
  ])('keys archive refuses a key that does not exist: %j', async (id, shown) => {
    expect(await archive(id)).toMatchObject({
      code: 1,
      errors: `keys archive failed: there is no key ${shown}; see: npx support-cli keys list\n`,
    });
  });

  test('keys archive asks on one line although the name of the key has line ends', async () => {
    await publish(created('apiKey', 'key_hostile', { name: 'Export\n of another org\x1b[8m' }));
    await applied();
    const questions: string[] = [];
    const args = ['keys', 'archive', 'key_hostile'];
    const { code, text } = await runCli(environment.variables, args, async (question) => {
      questions.push(question);
      return false;
    });
    expect(questions).toEqual([
      String.raw`Archive the key key_hostile of "org_1", named "Export\n of another org\u001b[8m", for good? [y/N] `,
    ]);
    expect({ code, text }).toEqual({ code: 1, text: matching(/^key_hostile of \S+ was not archived$/) });
  });
});
