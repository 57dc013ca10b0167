import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { listen } from '../../shared/runtime/listen.ts';
import { useFolder } from '../../tests/support/use-opened.ts';
import { startScript } from '../service.ts';
import { readQuestion, stackPaths } from './lasting.ts';
import { cacheDir } from './native/cache.ts';

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

describe('a stack that another process holds', () => {
  const folder = useFolder();
  const paths = () => stackPaths(cacheDir({ XDG_CACHE_HOME: folder.path }));

  const run = async (command: string) => {
    const environment = { XDG_CACHE_HOME: folder.path };
    const { exited, stdout, stderr } = startScript('infra/dev-servers/main.ts', environment, [command]);
    return { code: await exited, stdout: stdout(), stderr: stderr() };
  };

  /** The discard port refuses connections. */
  const closedPort = 9;
  type Holder = {
    kafkaPort: number;
    /** Why the holder cannot stop the stack. */
    failure?: string;
  };
  /** Answers like the holder of a stack, until `use` ends. Kafka is on this port, and MongoDB does not run. */
  async function holding({ kafkaPort, failure }: Holder, use: () => Promise<void>) {
    const addresses = {
      kafkaBrokers: `127.0.0.1:${kafkaPort}`,
      mongodbUrl: `mongodb://127.0.0.1:${closedPort}/`,
    };
    const stack = { ...addresses, store: 'MongoDB 8.0.32', how: { kafka: 'native', store: 'native' } };
    const answer = async (socket: Socket) => {
      const question = await readQuestion(socket);
      const reply = question === 'stop' ? { stack, failure } : { stack };
      socket.end(JSON.stringify(reply));
    };
    await using holder = createServer({ allowHalfOpen: true }, (socket) => void answer(socket));
    const { dataDir, socketFile } = paths();
    await mkdir(dataDir, { recursive: true });
    await once(holder.listen(socketFile), 'listening');
    await use();
  }

  test('`npm run stack status` prints the stopped server, and `env` prints no addresses', async () => {
    await using kafka = createServer();
    const { port } = await listen(kafka, '127.0.0.1', 0);
    await holding({ kafkaPort: port }, async () => {
      const { code, stdout } = await run('status');
      const [kafkaLine, storeLine] = stdout.split('\n');
      expect(kafkaLine).toMatch(/^Kafka {2}running /);
      expect(storeLine).toMatch(/^MongoDB 8\.0\.32 {2}not running /);
      expect(code).toBe(1);
      expect(await run('env')).toMatchObject({ code: 1, stdout: '' });
    });
  });

  test('`npm run stack down` keeps the data and exits with 1 if the holder cannot stop the stack', async () => {
    const failure = 'Kafka does not end';
    await holding({ kafkaPort: closedPort, failure }, async () => {
      expect(await run('down')).toEqual({ code: 1, stdout: '', stderr: `${failure}\n` });
      expect(existsSync(paths().dataDir)).toBe(true);
    });
  });

  test('`npm run stack down` removes the data once the holder has stopped the stack', async () => {
    await holding({ kafkaPort: closedPort }, async () => {
      const { code, stdout } = await run('down');
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: 'Stopped Kafka and MongoDB 8.0.32, and removed the data.',
      });
      expect(existsSync(paths().dataDir)).toBe(false);
    });
  });
});
