import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { connectRedisRateLimiter } from './redis-rate-limiter.ts';

/** A store that answers every command, the script included, until it is silent. */
let isSilent: boolean;
let socket: Socket;
let server: Server;
let connect: () => ReturnType<typeof connectRedisRateLimiter>;

beforeEach(async () => {
  isSilent = false;
  server = createServer((accepted) => {
    socket = accepted;
    socket.on('data', (data) => {
      const commands = data
        .toString()
        .split(/^\*\d+\r\n/m)
        .slice(1);
      const answers = commands.map((text) => (text.includes('EVALSHA') ? '*2\r\n:1\r\n:1\r\n' : '+OK\r\n'));
      if (!isSilent) socket.write(answers.join(''));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const limit = { requests: 10, windowSeconds: 60 };
  connect = () =>
    connectRedisRateLimiter({ url, timeoutMs: 50, database: 'support' }, limit, () => undefined);
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
});
afterEach(() => {
  jest.useRealTimers();
  socket.destroy();
  server.close();
});

test('a request waits for a silent store no longer than its timeout', async () => {
  const limiter = await connect();
  isSilent = true;
  const refused = expect(limiter.consume('a')).rejects.toThrow('no answer within 50 ms');
  await jest.advanceTimersByTimeAsync(50);
  await refused;
});

test('a store that is silent from the start is given up after two seconds, and its connection closed', async () => {
  isSilent = true;
  const refused = expect(connect()).rejects.toThrow('no answer within 2000 ms');
  await once(server, 'connection');
  await jest.advanceTimersByTimeAsync(2_000);
  await refused;
  if (!socket.closed) await once(socket, 'close');
});
