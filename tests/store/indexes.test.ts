import { openDatabases } from '../support/databases.ts';
import { openStore } from '../support/open-store.ts';
import { useOpened } from '../support/use-opened.ts';

const opened = useOpened(openDatabases);

test('a start that has its indexes does not log later that MongoDB builds them', async () => {
  const { mongo, control } = opened;
  const waits: string[] = [];
  // Only the global timers are faked. The driver takes its timers from another module.
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] });
  try {
    await openStore(mongo, { DATABASE_NAME: control.databaseName }, (condition) => waits.push(condition));
    jest.advanceTimersByTime(60_000);
  } finally {
    jest.useRealTimers();
  }
  expect(waits).toEqual([]);
});
