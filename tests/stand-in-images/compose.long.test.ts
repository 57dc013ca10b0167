import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { describeUnless } from '../support/unless-missing.ts';
import { useFolder } from '../support/use-opened.ts';

const hasCompose =
  spawnSync('docker', ['version'], { timeout: 3_000 }).status === 0 &&
  spawnSync('docker', ['compose', 'version'], { timeout: 3_000 }).status === 0;

/** The files of a clone that Compose reads: its own files, and the files that .dockerignore admits to a build. */
const composePaths = ['docker-compose.yml', '.dockerignore', 'infra/compose', 'infra/images'];
const admittedLines = readFileSync('.dockerignore', 'utf8').matchAll(/^!(.+)$/gm);
for (const [, path = ''] of admittedLines) composePaths.push(path);

describeUnless(
  hasCompose ? null : 'no Docker engine and Compose answer',
  'docker-compose.yml with the profile replicas',
  () => {
    // This hook comes before the hook of the folder, so Jest stops the services before it removes the folder.
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
      for (const path of composePaths) cpSync(path, join(folder.path, path), { recursive: true });
      await mustRun('sh', [join(folder.path, 'infra/compose/create-env.sh')]);
      await compose('up', '--build', '--wait');
    });

    const cli = (...verb: string[]) => compose('run', '--rm', '--no-TTY', 'cli', ...verb);

    test('both replicas behind the proxy count the requests of a key together', async () => {
      const { token } = JSON.parse(await cli('keys', 'create', '--org', 'org_1', '--json')) as {
        token: string;
      };
      const request = () =>
        mustRun(
          'curl',
          [
            '--silent',
            '--show-error',
            '--include',
            '--http1.1',
            '--cacert',
            '.certificate/proxy.pem',
            '--retry',
            '10',
            '--header',
            `Authorization: Bearer ${token}`,
            'https://localhost:8443/v1/tickets',
          ],
          { cwd: folder.path },
        );
      const responses: string[] = [];
      while (responses.length < 10) {
        const response = await request();
        // The API does not know the key until a projector has applied its event.
        if (/^HTTP\/\S+ 401/.test(response)) continue;
        responses.push(response);
      }
      for (const response of responses) expect(response).toMatch(/^HTTP\/1\.1 200/);
      const remaining = responses.map((response) =>
        Number(/^ratelimit-remaining: (\d+)/im.exec(response)?.[1]),
      );
      expect(remaining).toEqual([99, 98, 97, 96, 95, 94, 93, 92, 91, 90]);
    });

    test('the rebuild of docs/rebuilding.md leaves one projector, which follows the new generation', async () => {
      const steps = readFileSync('docs/rebuilding.md', 'utf8').split('\n');
      /** Runs the line of the page that begins with a text. */
      const runDocumented = (start: string) => {
        const step = steps.find((line) => line.startsWith(start))?.replace(/ +#.*/, '') ?? '';
        const command = step.replaceAll(
          'docker compose',
          'docker compose --project-name support-compose-test',
        );
        return mustRun('sh', ['-ec', command.replaceAll('<id>', containerId)], { cwd: folder.path });
      };
      let containerId = '';
      await cli('rebuild', 'start', '--why', 'test');
      const started = await runDocumented('docker compose run --detach');
      containerId = started.trim().split('\n').at(-1) ?? '';
      for (const verb of ['await', 'compare', 'promote']) await cli('rebuild', verb, '2');
      await runDocumented("sed -i '/^GENERATION=/d'");
      await runDocumented('docker compose up --detach --wait projector');
      await runDocumented('docker stop <id>');
      await cli('rebuild', 'drop', '1', '--force');
      let status = '';
      // A status waits for Kafka only for three seconds.
      await eventually(async () => {
        status = await cli('status');
        return !status.includes('no answer for') || notYet(status);
      });
      expect(status).toMatch(/^All is well\.\n\ngeneration 2 {2}active/);
      expect(await compose('ps', '--all', '--format', '{{.Service}} {{.Health}}', 'projector')).toBe(
        'projector healthy\n',
      );
      expect(await cli('rebuild', 'history')).toContain('by ada: test');
    });

    test.each(['api', 'projector', 'cli', 'console'])(
      'the compile cache of the image contains every module that services/%s loads',
      async (service) => {
        const counts = `2>&1 | sed -nE 's/.* was (accepted|rejected|not initialized).*/\\1/p; s/.* (no transpile cache).*/\\1/p' | sort | uniq -c`;
        const script = `node services/${service}/main.ts ${counts}`;
        // Without these settings the process loads its modules and exits.
        const environment = ['MONGODB_URL=', 'KAFKA_BROKERS=', 'NODE_DEBUG_NATIVE=COMPILE_CACHE'];
        const options = environment.flatMap((variable) => ['--env', variable]);
        const cacheCounts = await compose('exec', '--no-TTY', ...options, 'projector', 'sh', '-c', script);
        expect(cacheCounts.trim()).toMatch(/^\d+ accepted$/);
      },
    );
  },
);
