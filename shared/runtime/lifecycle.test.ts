import { type Closer, type Host, onShutdown } from './lifecycle.ts';
import { createLogger } from './logger.ts';

const done = async () => undefined;

/** A process, its exit code once it exits, and a signal to it. */
function fakeHost() {
  const { promise: exited, resolve: exit } = Promise.withResolvers<number>();
  const handlers = new Map<string, () => void>();
  const host: Host = { on: (signal, stop) => handlers.set(signal, stop), exit };
  return { host, exited, signal: (name: string) => handlers.get(name)?.() };
}

test.each<[string, Closer['close'], number]>([
  ['closes', done, 0],
  ['fails', () => Promise.reject(new Error('away')), 1],
  [
    'throws at once',
    () => {
      throw new Error('away');
    },
    1,
  ],
  ['hangs', () => new Promise(() => undefined), 1],
])('every closer runs in order if one %s, and the exit code shows it', async (_, close, code) => {
  const ran: string[] = [];
  const closer = (name: string, then: Closer['close'], deadlineMs: number): Closer => ({
    name,
    deadlineMs,
    close: () => {
      ran.push(name);
      return then();
    },
  });
  const { host, exited } = fakeHost();
  // The second closer may use the time of the first, but not the time of the third.
  const closers = [closer('first', done, 1), closer('second', close, 1), closer('third', done, 60_000)];
  onShutdown(createLogger('test', 'silent'), closers, host)(0);
  expect(await exited).toBe(code);
  expect(ran).toEqual(['first', 'second', 'third']);
});

test('a closer that takes longer than its deadline is waited for in the time that earlier ones left over', async () => {
  const { host, exited } = fakeHost();
  const slow = () => new Promise((resolve) => setTimeout(resolve, 50));
  const closers = [
    { name: 'first', close: done, deadlineMs: 60_000 },
    { name: 'second', close: slow, deadlineMs: 1 },
  ];
  onShutdown(createLogger('test', 'silent'), closers, host)(0);
  expect(await exited).toBe(0);
});

test.each(['SIGTERM', 'SIGINT'])(
  '%s stops the service once, and a further signal changes nothing',
  async (name) => {
    const { host, exited, signal } = fakeHost();
    let closed = 0;
    const close = async () => {
      closed += 1;
    };
    onShutdown(createLogger('test', 'silent'), [{ name: 'only', close, deadlineMs: 60_000 }], host);
    for (let times = 0; times < 2; times += 1) signal(name);
    expect(await exited).toBe(0);
    expect(closed).toBe(1);
  },
);
