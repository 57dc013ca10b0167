import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { listen } from '../../shared/runtime/listen.ts';
import { useFolder } from '../../tests/support/use-opened.ts';
import { startScript } from '../service.ts';

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

describe('npm run stack, of a stack', () => {
  const folder = useFolder();
  /** Where the stack of this clone has its data, in a cache of the test's own. */
  let dataDir: string;
  let readQuestion: (socket: Socket) => Promise<string>;
  beforeAll(async () => {
    const before = process.env;
    process.env = { ...before, XDG_CACHE_HOME: folder.path };
    ({ dataDir, readQuestion } = await import('./lasting.ts'));
    process.env = before;
  });

  const run = async (command: string) => {
    const environment = { XDG_CACHE_HOME: folder.path };
    const { exited, stdout, stderr } = startScript('infra/dev-servers/main.ts', environment, [command]);
    return { code: await exited, stdout: stdout(), stderr: stderr() };
  };

  /** The discard port refuses connections. */
  const closedPort = 9;
  /**
   * Holds a stack with this port of Kafka, whose MongoDB is gone, while `use` runs. `failure` says why it cannot stop.
   */
  async function holding(kafkaPort: number, use: () => Promise<void>, failure?: string) {
    const addresses = {
      kafkaBrokers: `127.0.0.1:${kafkaPort}`,
      mongodbUrl: `mongodb://127.0.0.1:${closedPort}/`,
    };
    const stack = { ...addresses, store: 'MongoDB 8.0.32', how: { kafka: 'native', store: 'native' } };
    await using holder = createServer({ allowHalfOpen: true }, (socket) => {
      const answer = (question: string) =>
        socket.end(JSON.stringify({ stack, ...(question === 'stop' && { failure }) }));
      void readQuestion(socket).then(answer);
    });
    await mkdir(dataDir, { recursive: true });
    await once(holder.listen(join(dirname(dataDir), 'socket')), 'listening');
    await use();
  }

  test('whose Kafka runs without MongoDB prints the stopped server, but no addresses', async () => {
    await using server = createServer();
    const { port } = await listen(server, '127.0.0.1', 0);
    await holding(port, async () => {
      const { code, stdout } = await run('status');
      expect(stdout).toMatch(/^Kafka {2}running .*\nMongoDB 8\.0\.32 {2}not running /);
      expect(code).toBe(1);
      expect(await run('env')).toMatchObject({ code: 1, stdout: '' });
    });
  });

  test('that cannot stop keeps the data and exits with 1', async () => {
    const failure = 'Kafka does not end';
    await holding(
      closedPort,
      async () => {
        expect(await run('down')).toEqual({ code: 1, stdout: '', stderr: `${failure}\n` });
        expect(existsSync(dataDir)).toBe(true);
      },
      failure,
    );
    await holding(closedPort, async () => {
      const { code, stdout } = await run('down');
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: 'Stopped Kafka and MongoDB 8.0.32, and removed the data.',
      });
      expect(existsSync(dataDir)).toBe(false);
    });
  });
});
