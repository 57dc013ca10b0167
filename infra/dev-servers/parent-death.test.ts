import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from '../../tests/support/eventually.ts';

const modulePath = resolve('infra/dev-servers/parent-death.ts');

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'on-parent-death-'));
});
afterEach(() => rm(dir, { recursive: true }));

/** A process that registers `mkdir executed` to run on its death, and then runs `then`. */
function startParent(then: string) {
  const command = JSON.stringify(['mkdir', join(dir, 'executed')]);
  const script = `
    const { onParentDeath } = await import(${JSON.stringify(modulePath)});
    const hook = onParentDeath(${command});
    ${then}
  `;
  return spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

const isExecuted = () => existsSync(join(dir, 'executed'));

describe('a command registered for the death of its parent', () => {
  test('runs when the parent is killed', async () => {
    const process = startParent(`console.log('registered'); setInterval(() => undefined, 60_000);`);
    await once(process.stdout, 'data');
    expect(isExecuted()).toBe(false);
    process.kill('SIGKILL');
    await eventually(isExecuted);
  });

  test('runs when the parent exits without revoking it, and does not delay the exit', async () => {
    const process = startParent('');
    const [code] = (await once(process, 'exit')) as [number];
    expect(code).toBe(0);
    await eventually(isExecuted);
  });

  test('does not run after it is revoked', async () => {
    const process = startParent(`
      await new Promise((resolve) => setTimeout(resolve, 100));
      await hook.revoke();
    `);
    const [code] = (await once(process, 'exit')) as [number];
    expect(code).toBe(0);
    expect(isExecuted()).toBe(false);
  });
});
