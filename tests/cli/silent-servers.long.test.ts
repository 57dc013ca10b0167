import { createServer } from 'node:net';
import { startService } from '../../infra/service.ts';
import { listen } from '../../shared/runtime/listen.ts';

/** A server that accepts connections, and never answers. */
const silent = createServer((socket) => socket.on('error', () => undefined));
let address = '';
beforeAll(async () => {
  const { port } = await listen(silent, '127.0.0.1', 0);
  address = `127.0.0.1:${port}`;
});
afterAll(() => silent.close());

test('a verb names the error of the connection that failed before the server became silent', async () => {
  let connections = 0;
  const failing = createServer((socket) => {
    socket.on('error', () => undefined);
    connections += 1;
    // The first two connections fail at their first request. Later ones are never answered.
    if (connections < 3) socket.once('data', () => socket.resetAndDestroy());
  });
  const { port } = await listen(failing, '127.0.0.1', 0);
  const brokers = `127.0.0.1:${port}`;
  const service = startService('cli', { KAFKA_BROKERS: brokers, LOG_LEVEL: '' }, ['topics', 'create']);
  expect(await service.exited).toBe(1);
  failing.close();
  const closed = `${brokers} accepts connections, but closes them before it answers`;
  const reason = `${closed} (Connection error: read ECONNRESET)`;
  expect(service.stderr()).toBe(
    `waiting for Kafka at ${brokers}: ${reason}\n` +
      `topics create failed: Kafka (KAFKA_BROKERS) cannot be reached: ${reason}\n`,
  );
});

test.each([
  {
    setting: 'KAFKA_BROKERS',
    command: ['topics', 'create'],
    scheme: '',
    expected: /^waiting for Kafka at \S+\n.+: Kafka .+ no answer for 25 s\n$/,
  },
  {
    setting: 'MONGODB_URL',
    command: ['keys', 'list'],
    scheme: 'mongodb://',
    expected: /^keys list failed: MongoDB .+ timed out after 5000 ms\n$/,
  },
])(
  'a verb ends with an error that names $setting if the server never answers',
  async ({ setting, command, scheme, expected }) => {
    const environment = { DATABASE_NAME: 'silent', LOG_LEVEL: '', [setting]: scheme + address };
    const service = startService('cli', environment, command);
    expect(await service.exited).toBe(1);
    expect(service.stderr()).toMatch(expected);
    expect(service.stderr()).toContain(`(${setting}) cannot be reached: `);
  },
);
