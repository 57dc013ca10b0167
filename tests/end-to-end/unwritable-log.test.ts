import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../infra/dev-servers/native/ports.ts';
import { dieWithParent } from '../../infra/dev-servers/parent-death.ts';
import { apiSettings } from '../support/api-process.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

const { environment } = useProjector({ projectors: 0 });
const folder = mkdtempSync(join(tmpdir(), 'unwritable-log-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** Opens an output that accepts no line: a pipe whose reader has left or has stopped, or a full disk. */
function openUnwritable(kind: 'gone' | 'stalled' | 'full'): number {
  if (kind === 'full') return openSync('/dev/full', 'w');
  const path = join(folder, `pipe-${children.length}`);
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, 'w');
  if (kind === 'gone') closeSync(reader);
  else fill(path);
  return writer;
}

/** Writes to a pipe until the pipe is full. */
function fill(path: string): void {
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    for (;;) writeSync(writer, '-');
  } catch {
    closeSync(writer);
  }
}

/** Starts a service whose stdout and stderr are this descriptor. */
function start(name: string, settings: Record<string, string | undefined>, output: number): ChildProcess {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  // A misspelt setting makes the service warn before it starts.
  const misspelt = { DATABASE_NAMES: 'x' };
  const env = { PATH, NODE_COMPILE_CACHE, ...environment.variables, LOG_LEVEL: 'debug', ...misspelt };
  const command = [
    ...dieWithParent(),
    process.execPath,
    '--disable-warning=TimeoutNegativeWarning',
    `services/${name}/main.ts`,
  ];
  const child = spawn(command[0] ?? '', command.slice(1), {
    env: { ...env, ...settings },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  children.push(child);
  return child;
}

/** The settings of each service, and the paths that it answers with 200 on its own port and on its admin port. */
const services = {
  api: {
    settings: (port: number) => ({
      ...apiSettings(environment.variables),
      API_PORT: String(port),
      SHUTDOWN_DELAY_SECONDS: '0',
    }),
    paths: ['/health'],
    adminPaths: ['/livez', '/readyz'],
  },
  projector: { settings: () => ({}), paths: [], adminPaths: ['/livez', '/readyz'] },
  console: {
    settings: (port: number) => ({ CONSOLE_PORT: String(port) }),
    paths: ['/', '/lag'],
    adminPaths: [],
  },
};

const names = ['projector', 'api', 'console'] as const;
const kinds = ['gone', 'stalled', 'full'] as const;
const cases = names.flatMap((name) => kinds.map((kind) => [name, kind] as const));

/** The log lines of these requests fill any buffer of the system. */
const requests = 500;

test.each(cases)('the %s serves requests and ends at SIGTERM although its log is %s', async (name, kind) => {
  const [port = 0, adminPort = 0] = await freePorts(2);
  const { settings, paths, adminPaths } = services[name];
  const child = start(name, { ADMIN_PORT: String(adminPort), ...settings(port) }, openUnwritable(kind));
  const urls = [
    ...paths.map((path) => `http://127.0.0.1:${port}${path}`),
    ...adminPaths.map((path) => `http://127.0.0.1:${adminPort}${path}`),
  ];
  const failures = () => (child.exitCode === null ? [] : [new Error(`ended with ${child.exitCode}`)]);
  const isAnswered = (url: string) =>
    fetch(url).then(
      async (response) => (await response.text()) !== '' && response.status === 200,
      () => false,
    );
  for (const url of urls) await eventually(() => isAnswered(url), failures);
  if (name === 'api') {
    const answers = Array.from({ length: requests }, () => isAnswered(urls[0] ?? ''));
    expect(await Promise.all(answers)).not.toContain(false);
  }
  for (const url of urls) expect(await isAnswered(url)).toBe(true);
  child.kill();
  await eventually(() => child.exitCode !== null || child.signalCode !== null);
  expect({ exitCode: child.exitCode, signalCode: child.signalCode }).toEqual({
    exitCode: 0,
    signalCode: null,
  });
});
