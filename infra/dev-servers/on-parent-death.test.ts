import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const modulePath = resolve('infra/dev-servers/on-parent-death.ts');

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'last-will-'));
});
afterEach(() => rm(dir, { recursive: true }));

/** A process that makes its will, `mkdir executed`, and goes on with `then`. */
function testator(then: string) {
  const will = JSON.stringify(['mkdir', join(dir, 'executed')]);
  const script = `
    const { onParentDeath } = await import(${JSON.stringify(modulePath)});
    const will = onParentDeath(${will});
    ${then}
  `;
  return spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Whether it is executed, now or soon. */
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

describe('the last will of a process', () => {
  test('is executed when it is killed', async () => {
    const process = testator(`console.log('made'); setInterval(() => undefined, 60_000);`);
    await once(process.stdout, 'data');
    expect(existsSync(join(dir, 'executed'))).toBe(false);
    process.kill('SIGKILL');
    expect(await executed()).toBe(true);
  });

  test('is executed when it ends by itself without a word, which the will does not hold up', async () => {
    const process = testator('');
    const [code] = (await once(process, 'exit')) as [number];
    expect(code).toBe(0);
    expect(await executed()).toBe(true);
  });

  test('is void once revoked', async () => {
    const process = testator(`
      await new Promise((resolve) => setTimeout(resolve, 100));
      await will.revoke();
    `);
    const [code] = (await once(process, 'exit')) as [number];
    expect(code).toBe(0);
    expect(existsSync(join(dir, 'executed'))).toBe(false);
  });
});
