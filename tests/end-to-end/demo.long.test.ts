import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Service, startCommand, startScript } from '../../infra/service.ts';
import { eventually } from '../support/eventually.ts';

/** Runs `npm start` on the servers of the tests until its output matches. Returns the process and its log folder. */
async function runUntil(pattern: RegExp, ...options: string[]) {
  const { KAFKA_BROKERS, MONGODB_URL } = process.env;
  const demo = startScript('infra/demo/main.ts', { KAFKA_BROKERS, MONGODB_URL }, [
    '--size',
    'small',
    ...options,
  ]);
  const failures = () => (demo.child.exitCode === null ? [] : [new Error(demo.stderr())]);
  await eventually(() => pattern.test(demo.stdout()), failures);
  const folder = dirname(/Started projector, log: (\S+)/.exec(demo.stdout())?.[1] ?? '');
  return { demo, folder };
}

const projectorOf = (demo: Service) =>
  Number(execFileSync('pgrep', ['-P', String(demo.pid), '-f', 'services/projector'], { encoding: 'utf8' }));

test('npm start serves sample data during a rebuild and removes its folder at the end', async () => {
  const { demo, folder } = await runUntil(/Data-As-Of/, '--rebuild');
  expect(demo.stdout()).toMatch(/^API key: svc_live_\w{40}$/m);
  expect(demo.stdout().match(/^curl --cacert \S+ -H 'Authorization: Bearer /gm)).toHaveLength(4);
  expect(demo.stdout()).toContain('generation 1 is dropped');
  expect(await demo.stop('SIGINT')).toBe(0);
  expect(existsSync(folder)).toBe(false);
});

test('SIGTERM to npm start ends every process that npm start has started', async () => {
  const { KAFKA_BROKERS, MONGODB_URL } = process.env;
  const command = ['npm', 'start', '--', '--size', 'small'];
  const npm = startCommand(command, { KAFKA_BROKERS, MONGODB_URL }, 'npm start', { ownGroup: true });
  await eventually(() => npm.stdout().includes('Started projector'), npm.failures);
  expect(await npm.stop('SIGTERM')).toBe(0);
  expect(() => process.kill(-npm.pid, 0)).toThrow('ESRCH');
});

test('npm start leaves only the logs if a service ends', async () => {
  const { demo, folder } = await runUntil(/Published /);
  process.kill(projectorOf(demo), 'SIGKILL');
  expect(await demo.exited).toBe(1);
  expect(demo.stderr()).toContain('The projector has exited (SIGKILL). Its log ends with:');
  expect(readdirSync(folder).toSorted()).toEqual(['api.log', 'console.log', 'projector.log']);
  rmSync(folder, { recursive: true });
});

test('npm start prints the reason why it makes no progress', async () => {
  const { demo } = await runUntil(/Started projector/);
  const projector = projectorOf(demo);
  process.kill(projector, 'SIGSTOP');
  // `status` names the held partition only if the projector had applied a record before the stop.
  await eventually(() => /No progress for 10 s[^]*(no projector has|held by)/.test(demo.stdout()));
  expect(demo.stdout().match(/No progress/g)).toHaveLength(1);
  process.kill(projector, 'SIGCONT');
  await eventually(() => demo.stdout().includes('Ready after'));
  expect(await demo.stop('SIGINT')).toBe(0);
});
