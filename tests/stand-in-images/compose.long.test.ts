import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import { eventually } from '../support/eventually.ts';
import { describeUnless } from '../support/unless-missing.ts';
import { useFolder } from '../support/use-opened.ts';

const hasCompose =
  spawnSync('docker', ['version'], { timeout: 3_000 }).status === 0 &&
  spawnSync('docker', ['compose', 'version'], { timeout: 3_000 }).status === 0;

/** The lines of .dockerignore that admit a file or a folder to a build. */
const admittedPaths = readFileSync('.dockerignore', 'utf8').matchAll(/^!(.+)$/gm);
/** The files of a clone that Compose runs with, and then the files that a build reads. */
const composeFiles = ['docker-compose.yml', '.dockerignore', 'infra/compose', 'infra/images'];
for (const [, path = ''] of admittedPaths) composeFiles.push(path);

describeUnless(
  hasCompose ? null : 'no Docker engine and Compose answer',
  'docker-compose.yml with the profile replicas',
  () => {
    // Defined first, so that Jest stops the services before it removes the folder.
    afterAll(() => compose('down', '--volumes'));
    const folder = useFolder();
    const compose = (...args: string[]) =>
      mustRun(
        'docker',
        ['compose', '--project-name', 'support-compose-test', '--profile', 'replicas', ...args],
        { cwd: folder.path, env: { USER: 'ada' } },
      );
    beforeAll(async () => {
      await mustRun(process.execPath, ['tests/stand-in-images/main.ts']);
      for (const path of composeFiles) cpSync(path, join(folder.path, path), { recursive: true });
      await mustRun('sh', [join(folder.path, 'infra/compose/create-env.sh')]);
      await compose('up', '--build', '--wait');
    });

    const cli = (...verb: string[]) => compose('run', '--rm', '--no-TTY', 'cli', ...verb);

    test('a key that the CLI creates reads through the proxy, and both replicas count its requests together', async () => {
      const { token } = JSON.parse(await cli('keys', 'create', '--org', 'org_1', '--json')) as {
        token: string;
      };
      const request = () =>
        mustRun(
          'curl',
          [
            ...['--silent', '--show-error', '--include', '--http1.1', '--cacert', '.certificate/proxy.pem'],
            ...['--retry', '10', '--header', `Authorization: Bearer ${token}`],
            'https://localhost:8443/v1/tickets',
          ],
          { cwd: folder.path },
        );
      const answers: string[] = [];
      while (answers.length < 10) {
        const answer = await request();
        // The key is unknown until a projector has applied its event.
        if (/^HTTP\/\S+ 401/.test(answer)) continue;
        answers.push(answer);
      }
      for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 200/);
      const remaining = answers.map((answer) => Number(/^ratelimit-remaining: (\d+)/im.exec(answer)?.[1]));
      expect(remaining).toEqual([99, 98, 97, 96, 95, 94, 93, 92, 91, 90]);
    });

    test('the rebuild of docs/rebuilding.md ends with one projector, which follows the new generation', async () => {
      const steps = readFileSync('docs/rebuilding.md', 'utf8').split('\n');
      const documented = (start: string) => {
        const step = steps.find((line) => line.startsWith(start))?.replace(/ +#.*/, '') ?? '';
        const command = step.replaceAll(
          'docker compose',
          'docker compose --project-name support-compose-test',
        );
        return mustRun('sh', ['-ec', command.replaceAll('<id>', build)], { cwd: folder.path });
      };
      let build = '';
      await cli('rebuild', 'start', '--why', 'test');
      const started = await documented('docker compose run --detach');
      build = started.trim().split('\n').at(-1) ?? '';
      for (const verb of ['await', 'compare', 'promote']) await cli('rebuild', verb, '2');
      await documented("sed -i '/^GENERATION=/d'");
      await documented('docker compose up --detach --wait projector');
      await documented('docker stop <id>');
      await cli('rebuild', 'drop', '1', '--force');
      let status = '';
      // A status waits for Kafka for three seconds.
      await eventually(async () => !(status = await cli('status')).includes('no answer for') || status);
      expect(status).toMatch(/^All is well\.\n\ngeneration 2 {2}active/);
      expect(await compose('ps', '--all', '--format', '{{.Service}} {{.Health}}', 'projector')).toBe(
        'projector healthy\n',
      );
      expect(await cli('rebuild', 'history')).toContain('by ada: test');
    });

    test.each(['api', 'projector', 'cli', 'console'])(
      'the compile cache of the image has each module of the entry point of services/%s',
      async (service) => {
        const counts = `2>&1 | sed -nE 's/.* was (accepted|rejected|not initialized).*/\\1/p; s/.* (no transpile cache).*/\\1/p' | sort | uniq -c`;
        const script = `node services/${service}/main.ts ${counts}`;
        // Without these settings the process loads its modules and exits.
        const environment = ['MONGODB_URL=', 'KAFKA_BROKERS=', 'NODE_DEBUG_NATIVE=COMPILE_CACHE'];
        const set = environment.flatMap((variable) => ['--env', variable]);
        const found = await compose('exec', '--no-TTY', ...set, 'projector', 'sh', '-c', script);
        expect(found.trim()).toMatch(/^\d+ accepted$/);
      },
    );
  },
);
