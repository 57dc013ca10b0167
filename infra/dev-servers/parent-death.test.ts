import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

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

/** Whether the command has run, or runs within 4 s. */
const executed = async (): Promise<boolean> => {
  const watcher = watch(dir);
  try {
    if (!existsSync(join(dir, 'executed')))
      await once(watcher, 'change', { signal: AbortSignal.timeout(4_000) }).catch(() => undefined);
    return existsSync(join(dir, 'executed'));
  } finally {
    watcher.close();
  }
};

describe('a command registered for the death of its parent', () => {
  test('runs when the parent is killed', async () => {
    const process = startParent(`console.log('registered'); setInterval(() => undefined, 60_000);`);
    await once(process.stdout, 'data');
    expect(existsSync(join(dir, 'executed'))).toBe(false);
    process.kill('SIGKILL');
    expect(await executed()).toBe(true);
  });

  test('runs when the parent exits without revoking it, and does not delay the exit', async () => {
    const process = startParent('');
    const [code] = (await once(process, 'exit')) as [number];
    expect(code).toBe(0);
    expect(await executed()).toBe(true);
  });

  test('does not run after it is revoked', async () => {
    const process = startParent(`
      await new Promise((resolve) => setTimeout(resolve, 100));
      await hook.revoke();
    `);
    const [code] = (await once(process, 'exit')) as [number];
    expect(code).toBe(0);
    expect(existsSync(join(dir, 'executed'))).toBe(false);
  });
});
