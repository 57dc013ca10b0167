import { readFile } from 'node:fs/promises';
import { runInNewContext } from 'node:vm';
import { type Service, startService } from '../../infra/service.ts';
import { requestTracesOf } from '../../shared/control/request-traces.ts';
import { apiKey, apiSettings, get } from '../support/api-process.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { describeOnMongo } from '../support/mongo-servers.ts';
import { password, startMongoWithUsers } from '../support/mongo-with-users.ts';
import { runCli } from '../support/run-cli.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';

/** The tests need MongoDB because the stand-in has no users with roles. */
describeOnMongo(['mongod'], 'with only the roles of docs/deploy.md', () => {
  const mongo = useOpened(() => startMongoWithUsers());

  // A `describe` of its own, so that its environment is cleaned up before MongoDB ends.
  describe('every program works', () => {
    const projector = useProjector({
      projectors: 0,
      servers: () => ({ ...process.env, MONGODB_URL: mongo.adminUrl }),
    });

    type Command = { role: string };

    /** The commands that create the roles, as the page gives them, for the databases of this test. */
    async function documentedRoles(name: string): Promise<Command[]> {
      const [, script = ''] = /```js roles\n([^]*?)```/.exec(await readFile('docs/deploy.md', 'utf8')) ?? [];
      expect(script).toContain("const control = 'support';");
      const roles: Command[] = [];
      const db = { getSiblingDB: () => ({ createRole: (command: Command) => roles.push(command) }) };
      runInNewContext(script.replace("'support'", JSON.stringify(name)), { db });
      return roles;
    }

    /** Creates the roles, and for each role a user of the same name. */
    async function createUsers(): Promise<void> {
      const roles = await documentedRoles(projector.environment.name);
      await mongo.asAdmin(async (admin) => {
        for (const { role, ...rest } of roles) {
          await admin.command({ createRole: role, ...rest });
          await admin.command({ createUser: role, pwd: password, roles: [role] });
        }
      });
    }

    const refusals = ({ log }: Service) =>
      log.filter((line) => JSON.stringify(line).includes('not authorized'));
    const environmentOf = (user: string) => ({
      ...projector.environment.variables,
      MONGODB_URL: mongo.urlOf(user),
    });
    const cli = (user: string, ...args: string[]) => runCli(environmentOf(user), args);
    const expectSuccess = async (user: string, ...args: string[]) =>
      expect({ args, ended: await cli(user, ...args) }).toEqual({
        args,
        ended: expect.objectContaining({ code: 0 }) as unknown,
      });

    let first: Service;
    beforeAll(async () => {
      await createUsers();
      await projector.publish(apiKey, created('contact', 'con_1'), created('ticket', 'ti_1'));
      await projector.send('tag', { key: 'tag_1', value: '{' });
      first = projector.startProcess({ MONGODB_URL: mongo.urlOf('supportProjector'), GENERATION: '1' });
      await projector.applied();
    });

    test('the projector creates its indexes, projects and stores dead letters', async () => {
      expect(await projector.find('ticket', 'ti_1')).toMatchObject({ version: 1 });
      expect(await projector.deadLetters()).toHaveLength(1);
      expect(refusals(first)).toEqual([]);
    });

    test('the API serves, announces itself and stores traces', async () => {
      const { control } = projector.environment;
      const api = startService('api', apiSettings(environmentOf('supportApi')));
      await api.logged('serving generation');
      expect((await get(api, '/v1/tickets/ti_1')).status).toBe(200);
      await eventually(async () => (await requestTracesOf(control).countDocuments()) === 1);
      expect(await control.collection('processes').countDocuments({ role: 'api' })).toBe(1);
      expect(await api.stop()).toBe(0);
      expect(refusals(api)).toEqual([]);
    });

    test('a reader may run only the commands that change nothing', async () => {
      for (const args of [
        ['status'],
        ['keys', 'list'],
        ['dead-letters', 'list'],
        ['verify'],
        ['verify', 'ticket', 'ti_1'],
        ['rebuild', 'history'],
      ])
        await expectSuccess('supportReader', ...args);
      expect((await cli('supportReader', 'explain', 'ti_1')).code).toBe(0);
      const started = await cli('supportReader', 'rebuild', 'start', '--why', 'test');
      expect(started).toMatchObject({ code: 1 });
      expect(started.errors).toMatch(/not authorized on \S+_g2 .* needs its rights on/s);
    });

    test.each([
      ['projector', 'supportProjector'],
      ['api', 'supportApi'],
    ])('the check of a %s succeeds only with the role %s', async (service, role) => {
      await expectSuccess(role, 'check', service);
      const { code, text } = await cli('supportReader', 'check', service);
      expect({ code, text }).toEqual({
        code: 1,
        text: expect.stringMatching(/FAILED .*not authorized/) as unknown,
      });
    });

    test('an administrator of keys blocks and unblocks keys', async () => {
      await expectSuccess('supportKeys', 'keys', 'block', 'key_1', '--why', 'test');
      await expectSuccess('supportKeys', 'keys', 'unblock', 'key_1');
    });

    test('an operator, but no reader, may repair documents', async () => {
      await expectSuccess('supportOperator', 'verify', 'ticket', '--repair');
      await expectSuccess('supportOperator', 'verify', '--repair');
      for (const args of [
        ['verify', 'ticket', '--repair'],
        ['verify', '--repair'],
      ])
        expect((await cli('supportReader', ...args)).errors).toMatch(/not authorized/);
    });

    test('an operator purges dead letters, and builds, promotes and drops a generation', async () => {
      await expectSuccess(
        'supportOperator',
        'dead-letters',
        'purge',
        '--topic',
        projector.topic('tag'),
        '--yes',
      );
      // The invalid record is still in its topic.
      await projector.send('tag', { key: 'tag_1', value: null });
      await expectSuccess('supportOperator', 'rebuild', 'start', '--why', 'test');
      const second = projector.startProcess({
        MONGODB_URL: mongo.urlOf('supportProjector'),
        GENERATION: '2',
      });
      await expectSuccess('supportOperator', 'rebuild', 'await', '2');
      const compared = await cli('supportReader', 'rebuild', 'compare', '2');
      expect(compared.errors).toContain('not authorized');
      expect(compared.errors).not.toContain('compared');
      await expectSuccess('supportOperator', 'rebuild', 'compare', '2');
      await expectSuccess('supportOperator', 'rebuild', 'promote', '2', '--why', 'test');
      await first.stop();
      await expectSuccess('supportOperator', 'rebuild', 'drop', '1', '--force', '--why', 'test');
      expect(refusals(second)).toEqual([]);
    });
  });
});
