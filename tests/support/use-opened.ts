import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Opens a resource before the tests of a `describe`, and closes it after them; with `each`, before and after each test.
 * Its fields do not exist before a test runs, so read them inside the tests.
 */
export function useOpened<T extends { close: () => Promise<unknown> }>(
  open: () => Promise<T>,
  { each = false } = {},
): T {
  const opened = {} as T;
  const [before, after] = each ? [beforeEach, afterEach] : [beforeAll, afterAll];
  before(async () => void Object.assign(opened, await open()));
  after(() => opened.close());
  return opened;
}

/** A temporary folder for the tests of a `describe`; with `each`, one for each test. */
export const useFolder = (options?: { each?: boolean }): { path: string } =>
  useOpened(async () => {
    const folder = await mkdtempDisposable(join(tmpdir(), 'support-test-'));
    return { path: folder.path, close: () => folder.remove() };
  }, options);
