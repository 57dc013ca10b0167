import { createReadBudget, replyBytesMax } from './read-budget.ts';

/** A budget with room for `reads` full pages, a quarter of them for one organization. */
const budgetOf = (reads: number, connectionsMax = 100, waitMs = 60_000) =>
  createReadBudget({ bytesMax: reads * replyBytesMax, connectionsMax, waitMs });

/** The text of a full page, which stays in memory until its client has taken it. */
const pageBytes = replyBytesMax / 8;

/** Starts reads; `admitted` lists their organizations in the order of admission. */
function startReads(budget: ReturnType<typeof budgetOf>) {
  const admitted: string[] = [];
  const acquire = (orgId: string) =>
    void budget.acquire(orgId, replyBytesMax).then(
      () => admitted.push(orgId),
      () => undefined,
    );
  const nextTick = () => new Promise((resolve) => setImmediate(resolve));
  return { admitted, acquire, nextTick };
}

describe('the read budget', () => {
  it('gives one organization a quarter of the bytes; its next read waits for its own reads, not for others', async () => {
    const budget = budgetOf(8);
    const { admitted, acquire, nextTick } = startReads(budget);
    for (const orgId of ['a', 'a', 'a', 'b']) acquire(orgId);
    await nextTick();
    expect(admitted).toEqual(['a', 'a', 'b']);
    budget.release('b', replyBytesMax);
    await nextTick();
    expect(admitted).toHaveLength(3);
    budget.release('a', replyBytesMax);
    await nextTick();
    expect(admitted).toEqual(['a', 'a', 'b', 'a']);
  });

  it.each([4, 5, 20])(
    'has room for the next organization while %d keep as many unread pages as they can',
    async (count) => {
      const budget = budgetOf(8);
      const { admitted, acquire, nextTick } = startReads(budget);
      for (let org = 1; org <= count; org += 1) {
        for (let read = 0; read < 100; read += 1) {
          const before = admitted.length;
          acquire(`org_${org}`);
          await nextTick();
          if (admitted.length === before) break;
          budget.count(`org_${org}`, pageBytes);
          budget.release(`org_${org}`, replyBytesMax);
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
    budget.release('c', replyBytesMax);
    await nextTick();
    expect(admitted.at(-1)).toBe('e');
  });

  it('counts the bytes that are kept after a read', async () => {
    const budget = budgetOf(8);
    const { admitted, acquire, nextTick } = startReads(budget);
    budget.count('a', replyBytesMax + 1);
    acquire('a');
    await nextTick();
    expect(admitted).toEqual([]);
    budget.count('a', -1);
    await nextTick();
    expect(admitted).toEqual(['a']);
    expect(budget.usage()).toEqual({ reads: 1, bytes: 2 * replyBytesMax, waiting: 0 });
  });

  it('does not let small reads starve a large one', async () => {
    const budget = budgetOf(4);
    const { admitted, acquire, nextTick } = startReads(budget);
    for (const orgId of ['a', 'b', 'c', 'd', 'e']) acquire(orgId);
    void budget.acquire('f', 1).then(() => admitted.push('small'));
    await nextTick();
    budget.count('a', -1);
    await nextTick();
    void budget.acquire('g', 1).then(() => admitted.push('small'));
    await nextTick();
    expect(admitted).toEqual(['a', 'b', 'c', 'd']);
    budget.release('b', replyBytesMax);
    budget.release('c', replyBytesMax);
    await nextTick();
    expect(admitted.slice(4)).toEqual(['e', 'small', 'small']);
  });

  it('leaves a connection to other organizations', async () => {
    const budget = budgetOf(100, 3);
    const { admitted, acquire, nextTick } = startReads(budget);
    for (const orgId of ['a', 'a', 'a', 'b']) acquire(orgId);
    await nextTick();
    expect(admitted).toEqual(['a', 'a', 'b']);
  });

  it('returns to zero, and rejects a read that waits too long', async () => {
    const budget = budgetOf(4, 100, 1);
    await budget.acquire('a', replyBytesMax);
    await expect(budget.acquire('a', replyBytesMax)).rejects.toThrow('no room');
    budget.release('a', replyBytesMax);
    await budget.acquire('a', replyBytesMax);
    budget.release('a', replyBytesMax);
    expect(budget.usage()).toEqual({ reads: 0, bytes: 0, waiting: 0 });
  });
});
