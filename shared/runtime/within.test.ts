import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listen.ts';
import { within } from './within.ts';

const blockMs = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test('a deadline is over with the work, and leaves no timer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  expect(await within(60_000, Promise.resolve('done'), () => 'late')).toBe('done');
  expect(timers()).toBe(before);
  expect(await within(1, new Promise<never>(() => undefined), () => 'late')).toBe('late');
});

test('an answer that arrives in time counts, although this process was too busy to read it in time', async () => {
  const server = createServer();
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const { port } = await listen(server, '127.0.0.1', 0);
  const socket = connect(port, '127.0.0.1');
  const [sender] = await accepted;
  const late = jest.fn(() => 'late');
  const received = within(20, once(socket, 'data').then(String), late);
  sender.end('in time');
  server.close();
  blockMs(50);
  const answer = await received;
  socket.destroy();
  expect(answer).toBe('in time');
  expect(late).not.toHaveBeenCalled();
});
