import { openDatabases } from '../support/databases.ts';
import { openStore } from '../support/open-store.ts';
import { useOpened } from '../support/use-opened.ts';

const opened = useOpened(openDatabases);

test('a start with complete indexes logs no wait for an index build', async () => {
  const { mongo, control } = opened;
  const waits: string[] = [];
  // This fakes only the global timers. The driver imports its timers from a module, so its time-outs stay real.
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] });
  try {
    await openStore(mongo, { DATABASE_NAME: control.databaseName }, (condition) => waits.push(condition));
    jest.advanceTimersByTime(60_000);
  } finally {
    jest.useRealTimers();
  }
  expect(waits).toEqual([]);
});
