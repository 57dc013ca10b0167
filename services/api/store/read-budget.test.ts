import { createReadBudget, replyBytesMax } from './read-budget.ts';

/** The caller `a/2` is key 2 of organization a. */
const caller = (name: string) => ({ orgId: name.split('/')[0] ?? '', keyId: name });

/** A budget for `reads` full pages, a quarter of them for one organization. */
function createTestBudget(reads: number, connectionsMax = 100, waitMs = 60_000) {
  const budget = createReadBudget({ bytesMax: reads * replyBytesMax, connectionsMax, waitMs });
  /** The callers of reads in the order of admission. */
  const admitted: string[] = [];
  const admission = () => new Promise((resolve) => setImmediate(resolve));
  const read = (name: string, bytes = replyBytesMax) =>
    void budget.acquire(caller(name), bytes).then(
      () => admitted.push(bytes === replyBytesMax ? name : 'small'),
      // A read that still waits when its test ends is refused a minute later, in the middle of another test.
      () => undefined,
    );
  return {
    budget,
    admitted,
    acquire: async (names: string[], bytes?: number) => {
      for (const name of names) read(name, bytes);
      await admission();
    },
    release: async (name: string, bytes = replyBytesMax) => {
      budget.release(caller(name), bytes);
      await admission();
    },
    count: async (name: string, bytes: number) => {
      budget.count(caller(name), bytes);
      await admission();
    },
  };
}

describe('the read budget', () => {
  test('gives one organization a quarter of the bytes', async () => {
    const { admitted, acquire, release } = createTestBudget(8);
    await acquire(['a/1', 'a/2', 'a/3', 'b']);
    expect(admitted).toEqual(['a/1', 'a/2', 'b']);
    await release('b');
    expect(admitted).toHaveLength(3);
    await release('a/1');
    expect(admitted).toEqual(['a/1', 'a/2', 'b', 'a/3']);
  });

  test.each([
    { name: 'bytes', reads: 16, connectionsMax: 100 },
    { name: 'connections', reads: 1_000, connectionsMax: 4 },
  ])('gives one key only a part of the $name of its organization', async ({ reads, connectionsMax }) => {
    const { admitted, acquire } = createTestBudget(reads, connectionsMax);
    await acquire(['a/1', 'a/1', 'a/1', 'a/2']);
    expect(admitted).toEqual(['a/1', 'a/1', 'a/2']);
  });

  test('counts the bytes that are kept after a read', async () => {
    const { budget, admitted, acquire, count } = createTestBudget(8);
    await count('a/1', 2 * replyBytesMax);
    await acquire(['a/2']);
    expect(admitted).toEqual([]);
    await count('a/1', -1);
    expect(admitted).toEqual(['a/2']);
    expect(budget.usage()).toEqual({ reads: 1, bytes: 3 * replyBytesMax - 1, waiting: 0 });
  });

  test('has capacity for the next organization while four take all that they can', async () => {
    const { admitted, acquire } = createTestBudget(8);
    await acquire(['a/1', 'a/2', 'b/1', 'b/2', 'c/1', 'c/2', 'd/1', 'd/2', 'next']);
    expect(admitted).toEqual(['a/1', 'a/2', 'b/1', 'b/2', 'c/1', 'd/1', 'next']);
  });

  test('does not let small reads starve a large read', async () => {
    const { admitted, acquire, release, count } = createTestBudget(4);
    await acquire(['a', 'b', 'c', 'd', 'e']);
    await acquire(['f'], 1);
    await count('a', -1);
    await acquire(['g'], 1);
    expect(admitted).toEqual(['a', 'b', 'c', 'd']);
    await release('b');
    await release('c');
    expect(admitted.slice(4)).toEqual(['e', 'small', 'small']);
  });

  test('admits the reads of a key in the order in which they came', async () => {
    const { admitted, acquire, release } = createTestBudget(8);
    const small = replyBytesMax / 64;
    await acquire(['a'], small);
    await acquire(['a']);
    await acquire(['a'], small);
    await release('a', small);
    await acquire(['a'], small);
    expect(admitted.slice(0, 2)).toEqual(['small', 'a']);
    // The large read has used up the share.
    await acquire(['a']);
    await acquire(['a'], small);
    await release('a');
    expect(admitted.slice(2)).toEqual(['small', 'small', 'a']);
  });

  test('leaves a connection to other organizations', async () => {
    const { admitted, acquire } = createTestBudget(100, 3);
    await acquire(['a/1', 'a/2', 'a/3', 'b']);
    expect(admitted).toEqual(['a/1', 'a/2', 'b']);
  });

  test('admits a small read once the large read before it has ended', async () => {
    jest.useFakeTimers();
    const { budget } = createTestBudget(2, 100, 1_000);
    for (const name of ['a', 'b']) await budget.acquire(caller(name), replyBytesMax - 1);
    const refused = expect(budget.acquire(caller('c'), replyBytesMax)).rejects.toThrow('no capacity');
    jest.advanceTimersByTime(500);
    const small = budget.acquire(caller('d'), 1);
    jest.advanceTimersByTime(500);
    jest.useRealTimers();
    await refused;
    expect(budget.usage()).toMatchObject({ reads: 3, waiting: 0 });
    const request = {};
    const left = expect(budget.acquire(caller('c'), replyBytesMax, request)).rejects.toThrow('has left');
    const next = budget.acquire(caller('e'), 1);
    budget.leave(request);
    await Promise.all([small, left, next]);
    expect(budget.usage()).toMatchObject({ reads: 4, waiting: 0 });
  });

  test('rejects a read that waits too long', async () => {
    const { budget } = createTestBudget(4, 100, 1);
    await budget.acquire(caller('a'), replyBytesMax);
    await expect(budget.acquire(caller('a'), replyBytesMax)).rejects.toMatchObject({ limit: 'share' });
    for (const name of ['b', 'c', 'd']) await budget.acquire(caller(name), replyBytesMax);
    for (const name of ['a', 'e'])
      await expect(budget.acquire(caller(name), replyBytesMax)).rejects.toMatchObject({ limit: 'memory' });
    for (const name of ['a', 'b', 'c', 'd']) budget.release(caller(name), replyBytesMax);
    expect(budget.usage()).toEqual({ reads: 0, bytes: 0, waiting: 0 });
  });

  test('counts as half used above half of the bytes', () => {
    const budget = createReadBudget({ bytesMax: 100, connectionsMax: 1 });
    budget.count(caller('a'), 50);
    expect(budget.isHalfUsed()).toBe(false);
    budget.count(caller('a'), 1);
    expect(budget.isHalfUsed()).toBe(true);
  });
});
