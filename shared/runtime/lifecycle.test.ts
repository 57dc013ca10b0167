import { onShutdown, runClosers, type Closer } from './lifecycle.ts';
import { createLogger } from './logger.ts';

const logger = createLogger('test', 'silent');

/** Runs three closers of which the second closes by `close`; returns which ones ran, and whether all closed. */
async function run(close: Closer['close']) {
  const ran: string[] = [];
  const closer = (name: string, then: Closer['close']): Closer => ({
    name,
    deadlineMs: name === 'second' ? 1 : 60_000,
    close: () => {
      ran.push(name);
      return then();
    },
  });
  const done = async () => undefined;
  const clean = await runClosers(logger, [
    closer('first', done),
    closer('second', close),
    closer('third', done),
  ]);
  return { ran, clean };
}

const all = ['first', 'second', 'third'];

test.each<[string, Closer['close'], boolean]>([
  ['closes', async () => undefined, true],
  ['fails', () => Promise.reject(new Error('away')), false],
  [
    'throws at once',
    () => {
      throw new Error('away');
    },
    false,
  ],
  ['hangs', () => new Promise(() => undefined), false],
])('every closer runs in order if one %s', async (_, close, clean) => {
  expect(await run(close)).toEqual({ ran: all, clean });
});

test.each<[string, Closer['close'], number]>([
  ['closes', async () => undefined, 0],
  ['fails to close', () => Promise.reject(new Error('away')), 1],
])('a service that %s exits with %3$i', async (_, close, code) => {
  const exited = new Promise((resolve) => {
    jest.spyOn(process, 'exit').mockImplementation(((given: number) => resolve(given)) as never);
  });
  jest.spyOn(process, 'on').mockReturnValue(process);
  onShutdown(logger, [{ name: 'store', close, deadlineMs: 60_000 }])(0);
  expect(await exited).toBe(code);
  jest.restoreAllMocks();
});
