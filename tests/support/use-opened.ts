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
