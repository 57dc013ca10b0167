import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useFolder } from '../../tests/support/use-opened.ts';

describe('`npm run stack -- up` says why it cannot start a stack', () => {
  const folder = useFolder();
  const up = (environment: Record<string, string>) => {
    const env = { ...process.env, XDG_CACHE_HOME: folder.path, ...environment };
    return spawnSync(process.execPath, ['infra/dev-servers/main.ts', 'up'], { encoding: 'utf8', env });
  };

  test('if the folder of its socket is too deep', () => {
    const { status, stderr } = up({ XDG_CACHE_HOME: join(folder.path, 'deep'.repeat(20)) });
    expect(stderr).toMatch(/socket is too long for a socket: set XDG_CACHE_HOME to a shorter folder\n$/);
    expect(status).toBe(1);
  });

  test('if the process that holds it fails at its start', () => {
    const broken = join(folder.path, 'broken.cjs');
    writeFileSync(broken, "if (process.argv.includes('hold')) throw new Error('the holder is broken');");
    const { status, stderr } = up({ NODE_OPTIONS: `--require=${broken}` });
    expect(stderr).toMatch(/The stack could not be started\.\n.*Error: the holder is broken/s);
    expect(status).toBe(1);
  });
});
