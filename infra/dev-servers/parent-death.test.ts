import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from '../../tests/support/eventually.ts';

const modulePath = resolve('infra/dev-servers/parent-death.ts');

describe('a command registered for the death of its parent', () => {
  test.each([
    {
      name: 'runs when the parent is killed',
      then: `process.kill(process.pid, 'SIGKILL')`,
      exitCode: null,
      runs: true,
    },
    {
      name: 'runs when the parent exits without revoking it, and does not delay the exit',
      then: '',
      exitCode: 0,
      runs: true,
    },
    { name: 'does not run after it is revoked', then: 'await hook.revoke()', exitCode: 0, runs: false },
  ])('$name', async ({ then, exitCode, runs }) => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'on-parent-death-'));
    const executed = join(folder.path, 'executed');
    const script = `
      const { onParentDeath } = await import(${JSON.stringify(modulePath)});
      const hook = onParentDeath(${JSON.stringify(['mkdir', executed])});
      await new Promise((resolve) => setTimeout(resolve, 100));
      ${then}
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
    expect((await once(parent, 'exit'))[0]).toBe(exitCode);
    if (runs) await eventually(() => existsSync(executed));
    else expect(existsSync(executed)).toBe(false);
  });
});
