import { type Closer, onShutdown } from './lifecycle.ts';
import { createLogger } from './logger.ts';

const done = async () => undefined;

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
])('every closer runs in order if one %s, and the exit code tells of it', async (_, close, code) => {
  const ran: string[] = [];
  const closer = (name: string, then: Closer['close'], deadlineMs: number): Closer => ({
    name,
    deadlineMs,
    close: () => {
      ran.push(name);
      return then();
    },
  });
  const exited = new Promise((resolve) => {
    jest.spyOn(process, 'exit').mockImplementation(((given: number) => resolve(given)) as never);
  });
  jest.spyOn(process, 'on').mockReturnValue(process);
  // The second one may use the time of the first, but not that of the third.
  const closers = [closer('first', done, 1), closer('second', close, 1), closer('third', done, 60_000)];
  onShutdown(createLogger('test', 'silent'), closers)(0);
  expect(await exited).toBe(code);
  expect(ran).toEqual(['first', 'second', 'third']);
  jest.restoreAllMocks();
});

test('a closer that takes longer than its deadline is waited for in the time that earlier ones left over', async () => {
  const exited = new Promise((resolve) => {
    jest.spyOn(process, 'exit').mockImplementation(((given: number) => resolve(given)) as never);
  });
  jest.spyOn(process, 'on').mockReturnValue(process);
  const slow = () => new Promise((resolve) => setTimeout(resolve, 50));
  onShutdown(createLogger('test', 'silent'), [
    { name: 'first', close: done, deadlineMs: 60_000 },
    { name: 'second', close: slow, deadlineMs: 1 },
  ])(0);
  expect(await exited).toBe(0);
  jest.restoreAllMocks();
});
