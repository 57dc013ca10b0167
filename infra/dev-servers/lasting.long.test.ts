import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { useFolder } from '../../tests/support/use-opened.ts';
import { cacheDir } from './native/cache.ts';

describe('a lasting stack', () => {
  // Defined first, so that Jest stops the stack before it removes the folder with the stack's socket.
  afterAll(() => run('down'));
  const folder = useFolder();
  const run = (verb: string) => {
    const env = { ...process.env, XDG_CACHE_HOME: folder.path };
    const words = ['infra/dev-servers/main.ts', verb];
    const { status, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8', env });
    return { status, stdout };
  };
  const notUp = { status: 1, stdout: 'The stack is not up.\n' };

  test('runs from `up` to `down`, on addresses that `status` and `env` print', () => {
    // given the installed servers, and no stack
    const ownCache = cacheDir({ XDG_CACHE_HOME: folder.path });
    for (const dir of [ownCache, cacheDir()]) mkdirSync(dir, { recursive: true });
    for (const name of readdirSync(cacheDir()).filter((entry) => entry !== 'stack'))
      symlinkSync(join(cacheDir(), name), join(ownCache, name));
    expect(run('status')).toEqual(notUp);
    expect(run('up').status).toBe(0);
    const [, kafka = '', store = ''] =
      /^export KAFKA_BROKERS=(.+)\nexport MONGODB_URL='(.+)'\n$/.exec(run('env').stdout) ?? [];
    const status = run('status');
    expect(status.status).toBe(0);
    const lines = status.stdout.trimEnd().split('\n');
    expect(lines).toEqual([
      `Kafka  running  ${kafka}`,
      expect.stringMatching(/^(MongoDB|FerretDB) .*  running  mongodb:/),
    ]);
    expect(lines[1]?.endsWith(store)).toBe(true);
    expect(run('up').stdout).toMatch(/^The stack is already up\./);
    expect(run('down').stdout).toMatch(/^Stopped Kafka and /);
    expect(run('status')).toEqual(notUp);
  });
});
