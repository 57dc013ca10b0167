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
  const closer = (name: string, then: Closer['close'], deadlineMs = 60_000): Closer => ({
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
  const closers = [closer('first', done), closer('second', close, 1), closer('third', done)];
  onShutdown(createLogger('test', 'silent'), closers)(0);
  expect(await exited).toBe(code);
  expect(ran).toEqual(['first', 'second', 'third']);
  jest.restoreAllMocks();
});
