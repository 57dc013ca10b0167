import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../infra/dev-servers/native/run.ts';
import { startCommand } from '../../infra/service.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { freshClone, freshUserEnvironment } from '../support/fresh-clone.ts';
import { descendantsOf, isRunning } from '../support/processes.ts';
import { useFolder } from '../support/use-opened.ts';

const folder = useFolder();

/** The environment of a cron job on a hardened production host. */
const cronEnvironment = { PATH: '/usr/bin:/bin', NODE_ENV: 'production', npm_config_omit: 'dev' };

test('npm start works in a folder `sp ace ü` with the PATH of cron and a noexec TMPDIR', async () => {
  const clone = join(folder.path, 'sp ace ü', 'app');
  const tmp = join(folder.path, 'tmp');
  freshClone(clone);
  mkdirSync(tmp);
  const environment = { ...freshUserEnvironment(), ...cronEnvironment, TMPDIR: tmp };
  const mayMount = (await run('unshare', ['--mount', 'true'])).ok;
  // In the scripts, $0 is `tmp`, and $1 is `clone`.
  const startScript = 'cd "$1" && exec npm start -- --size small';
  const mountScript = `mount -t tmpfs -o noexec tmpfs "$0" && ${startScript}`;
  // Without the right to mount, the test runs without the noexec TMPDIR.
  const shell = mayMount
    ? ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', mountScript]
    : ['sh', '-c', startScript];
  const demo = startCommand([...shell, tmp, clone], environment, 'npm start', { ownGroup: true });
  await eventually(() => demo.stdout().includes('Data-As-Of'), demo.failures, { limitMs: 900_000 });
  const processes = descendantsOf(demo.pid);
  expect(await demo.stop('SIGTERM')).toBe(0);
  await eventually(() => !processes.some(isRunning) || notYet(processes.filter(isRunning)));
});

test('infra/run.sh names the missing package on a host without libatomic', async () => {
  const libraries = await run('ldd', [process.execPath]);
  const [, libatomic = ''] = /libatomic\S* => (\S+)/.exec(libraries.output) ?? [];
  // An empty file in place of the library hides the library from this process only.
  const script = 'mount --bind /dev/null "$0" && exec sh infra/run.sh --version';
  const hidden = await run('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script, libatomic]);
  if (/unshare failed|permission denied/i.test(hidden.output)) return;
  expect(hidden.ok).toBe(false);
  expect(hidden.output).toMatch(/Node 26 does not run here: \S*libatomic.* apt-get install libatomic1 /);
});

test('npm start keeps and names the log of a server that has failed', async () => {
  // given a broker that cannot load a codec, and so refuses the records that are compressed with it
  const missingZstd = '-DZstdNativePath=/nowhere/libzstd.so';
  const environment = { DEV_STORE: 'stand-in', ...freshUserEnvironment(), JAVA_TOOL_OPTIONS: missingZstd };
  const command = [process.execPath, 'infra/demo/main.ts', '--size', 'small'];
  const demo = startCommand(command, environment, 'npm start');
  expect(await demo.exited).toBe(1);
  const [, logFolder = ''] = /The logs are kept in ([^:]+): .*kafka\.log/.exec(demo.stderr()) ?? [];
  expect(demo.stderr()).toContain('The cause is probably in kafka.log\n');
  expect(readFileSync(join(logFolder, 'kafka.log'), 'utf8')).toMatch(/UnsatisfiedLinkError|Zstd/);
  expect(readdirSync(logFolder)).toEqual(expect.arrayContaining(['api.log', 'kafka.log', 'projector.log']));
  expect(readdirSync(logFolder).every((name) => /^[a-z]+\.log$/.test(name))).toBe(true);
  rmSync(logFolder, { recursive: true });
});
