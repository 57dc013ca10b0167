import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { ensureRegistry } from '../../shared/control/generations.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';

const testEnvironment = useOpened(() => createTestEnvironment());
beforeAll(async () => {
  await ensureRegistry(testEnvironment.control);
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends the CLI as process 1 of a container', async (signal) => {
  const verb = [process.execPath, 'services/cli/main.ts', 'rebuild', 'status', '--watch'];
  const unshare = spawn('unshare', ['--pid', '--fork', '--kill-child', ...verb], {
    env: { PATH: process.env.PATH, ...testEnvironment.variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(unshare, 'exit');
  // Once the verb prints, the CLI listens to signals.
  await Promise.race([once(unshare.stdout, 'data'), exited]);
  const child = readFileSync(`/proc/${unshare.pid}/task/${unshare.pid}/children`, 'utf8');
  process.kill(Number(child), signal);
  // A process that ignores the signal would keep the test waiting.
  const killing = setTimeout(() => unshare.kill('SIGKILL'), 20_000);
  expect(await exited).toEqual([signal === 'SIGTERM' ? 143 : 130, null]);
  clearTimeout(killing);
});
