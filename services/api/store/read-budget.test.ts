import { createReadBudget, replyBytesMax } from './read-budget.ts';

/** A budget with room for `reads` full pages, a quarter of them for one organization. */
const budgetOf = (reads: number, connectionsMax = 100, waitMs = 60_000) =>
  createReadBudget({ bytesMax: reads * replyBytesMax, connectionsMax, waitMs });

/** The text of a full page, which stays in memory until its client has taken it. */
const pageBytes = replyBytesMax / 8;

/** The caller `a/2` is key 2 of organization a. */
const caller = (name: string) => ({ orgId: name.split('/')[0] ?? '', keyId: name });

/** Starts reads; `admitted` lists their callers in the order of admission. */
function startReads(budget: ReturnType<typeof budgetOf>) {
  const admitted: string[] = [];
  const acquire = (name: string, bytes = replyBytesMax) =>
    void budget.acquire(caller(name), bytes).then(
      () => admitted.push(bytes === replyBytesMax ? name : 'small'),
      // A read that still waits when its test ends is refused a minute later, in the middle of another test.
      () => undefined,
    );
  const nextTick = () => new Promise((resolve) => setImmediate(resolve));
  return { admitted, acquire, nextTick };
}

describe('the read budget', () => {
  it('gives one organization a quarter of the bytes; its next read waits for its own reads, not for others', async () => {
    const budget = budgetOf(8);
    const { admitted, acquire, nextTick } = startReads(budget);
    for (const name of ['a/1', 'a/2', 'a/3', 'b']) acquire(name);
    await nextTick();
    expect(admitted).toEqual(['a/1', 'a/2', 'b']);
    budget.release(caller('b'), replyBytesMax);
    await nextTick();
    expect(admitted).toHaveLength(3);
    budget.release(caller('a/1'), replyBytesMax);
    await nextTick();
    expect(admitted).toEqual(['a/1', 'a/2', 'b', 'a/3']);
  });

  it.each([
    ['bytes', budgetOf(16)],
    ['connections', budgetOf(1_000, 4)],
  ])(
    'gives one key a part of the %s of its organization; another key does not wait for it',
    async (_, budget) => {
      const { admitted, acquire, nextTick } = startReads(budget);
      for (const name of ['a/1', 'a/1', 'a/1', 'a/2']) acquire(name);
      await nextTick();
      expect(admitted).toEqual(['a/1', 'a/1', 'a/2']);
    },
  );

  it.each([4, 5, 20])(
    'has room for the next organization while %d keep as many unread pages as they can',
    async (count) => {
      const budget = budgetOf(8);
      const { admitted, acquire, nextTick } = startReads(budget);
      for (let org = 1; org <= count; org += 1) {
        for (let read = 0; read < 100; read += 1) {
          const before = admitted.length;
          const name = `org_${org}/${read}`;
          acquire(name);
          await nextTick();
          if (admitted.length === before) break;
          budget.count(caller(name), pageBytes);
          budget.release(caller(name), replyBytesMax);
        }
      }
      acquire('next');
      await nextTick();
      expect(admitted.at(-1)).toBe('next');
    },
  );

  it('gives all bytes to all organizations together, first come, first served', async () => {
    const budget = budgetOf(4);
    const { admitted, acquire, nextTick } = startReads(budget);
    for (const orgId of ['a', 'b', 'c', 'd', 'e', 'f']) acquire(orgId);
    await nextTick();
    expect(admitted).toEqual(['a', 'b', 'c', 'd']);
    budget.release(caller('c'), replyBytesMax);
    await nextTick();
    expect(admitted.at(-1)).toBe('e');
  });

  it('counts the bytes that are kept after a read', async () => {
    const budget = budgetOf(8);
    const { admitted, acquire, nextTick } = startReads(budget);
    budget.count(caller('a/1'), 2 * replyBytesMax);
    acquire('a/2');
    await nextTick();
    expect(admitted).toEqual([]);
    budget.count(caller('a/1'), -1);
    await nextTick();
    expect(admitted).toEqual(['a/2']);
    expect(budget.usage()).toEqual({ reads: 1, bytes: 3 * replyBytesMax - 1, waiting: 0 });
  });

  it('does not let small reads starve a large one', async () => {
    const budget = budgetOf(4);
    const { admitted, acquire, nextTick } = startReads(budget);
    for (const orgId of ['a', 'b', 'c', 'd', 'e']) acquire(orgId);
    acquire('f', 1);
    await nextTick();
    budget.count(caller('a'), -1);
    await nextTick();
    acquire('g', 1);
    await nextTick();
    expect(admitted).toEqual(['a', 'b', 'c', 'd']);
    budget.release(caller('b'), replyBytesMax);
    budget.release(caller('c'), replyBytesMax);
    await nextTick();
    expect(admitted.slice(4)).toEqual(['e', 'small', 'small']);
  });

  it('admits the reads of a key in the order in which they came, so that small ones do not pass a large one', async () => {
    const budget = budgetOf(8);
    const { admitted, acquire, nextTick } = startReads(budget);
    const small = replyBytesMax / 64;
    const acquireSmall = () => acquire('a', small);
    acquireSmall();
    acquire('a');
    acquireSmall();
    budget.release(caller('a'), small);
    acquireSmall();
    await nextTick();
    expect(admitted.slice(0, 2)).toEqual(['small', 'a']);
    // The large read has used up the share.
    acquire('a');
    acquireSmall();
    budget.release(caller('a'), replyBytesMax);
    await nextTick();
    expect(admitted.slice(2)).toEqual(['small', 'small', 'a']);
  });

  it('leaves a connection to other organizations', async () => {
    const budget = budgetOf(100, 3);
    const { admitted, acquire, nextTick } = startReads(budget);
    for (const name of ['a/1', 'a/2', 'a/3', 'b']) acquire(name);
    await nextTick();
    expect(admitted).toEqual(['a/1', 'a/2', 'b']);
  });

  it('returns to zero, and rejects a read that waits too long: for its own share, or for room', async () => {
    const budget = budgetOf(4, 100, 1);
    await budget.acquire(caller('a'), replyBytesMax);
    await expect(budget.acquire(caller('a'), replyBytesMax)).rejects.toMatchObject({ limit: 'share' });
    for (const name of ['b', 'c', 'd']) await budget.acquire(caller(name), replyBytesMax);
    for (const name of ['a', 'e'])
      await expect(budget.acquire(caller(name), replyBytesMax)).rejects.toMatchObject({ limit: 'memory' });
    for (const name of ['a', 'b', 'c', 'd']) budget.release(caller(name), replyBytesMax);
    expect(budget.usage()).toEqual({ reads: 0, bytes: 0, waiting: 0 });
  });

  it('is half used above half of the bytes: from then on slow clients are disconnected', () => {
    const budget = createReadBudget({ bytesMax: 100, connectionsMax: 1 });
    budget.count(caller('a'), 50);
    expect(budget.isHalfUsed()).toBe(false);
    budget.count(caller('a'), 1);
    expect(budget.isHalfUsed()).toBe(true);
  });
});
