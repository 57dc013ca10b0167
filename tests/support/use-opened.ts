import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Opens a resource before the tests of a `describe`, and closes it after them. With `each`, it does so for each test.
 * The fields of the resource exist only while a test or its hooks run, so read them there.
 */
export function useOpened<T extends { close: () => Promise<unknown> }>(
  open: () => Promise<T>,
  { each = false } = {},
): T {
  const opened = {} as T;
  const before = each ? beforeEach : beforeAll;
  const after = each ? afterEach : afterAll;
  before(async () => {
    Object.assign(opened, await open());
  });
  after(() => opened.close());
  return opened;
}

/** A temporary folder for the tests of a `describe`; with `each`, one for each test. */
export const useFolder = (options?: { each?: boolean }): { path: string } =>
  useOpened(async () => {
    const folder = await mkdtempDisposable(join(tmpdir(), 'support-test-'));
    return { path: folder.path, close: () => folder.remove() };
  }, options);
