import { createReadBudget, replyBytesMax } from './read-budget.ts';

/** Room for `reads` of them, a quarter for one organization. */
const budgetOf = (reads: number, connectionsMax = 100, waitMs = 60_000) =>
  createReadBudget({ bytesMax: reads * replyBytesMax, connectionsMax, waitMs });

/** Reads that organizations have asked for, in the order in which they were let in. */
function given(budget: ReturnType<typeof budgetOf>) {
  const entered: string[] = [];
  const enter = (orgId: string) =>
    void budget.enter(orgId, replyBytesMax).then(
      () => entered.push(orgId),
      () => undefined,
    );
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { entered, enter, settled };
}

describe('what answers may take', () => {
  it('is a quarter of the bytes for one organization; its next read waits for its own, not for others', async () => {
    const budget = budgetOf(8);
    const { entered, enter, settled } = given(budget);
    for (const orgId of ['a', 'a', 'a', 'b']) enter(orgId);
    await settled();
    expect(entered).toEqual(['a', 'a', 'b']);
    budget.leave('b', replyBytesMax);
    await settled();
    expect(entered).toHaveLength(3);
    budget.leave('a', replyBytesMax);
    await settled();
    expect(entered).toEqual(['a', 'a', 'b', 'a']);
  });

  it('is all bytes for all of them, first come, first served', async () => {
    const budget = budgetOf(4);
    const { entered, enter, settled } = given(budget);
    for (const orgId of ['a', 'b', 'c', 'd', 'e', 'f']) enter(orgId);
    await settled();
    expect(entered).toEqual(['a', 'b', 'c', 'd']);
    budget.leave('c', replyBytesMax);
    await settled();
    expect(entered.at(-1)).toBe('e');
  });

  it('counts what is kept after the reads', async () => {
    const budget = budgetOf(8);
    const { entered, enter, settled } = given(budget);
    budget.count('a', replyBytesMax + 1);
    enter('a');
    await settled();
    expect(entered).toEqual([]);
    budget.count('a', -1);
    await settled();
    expect(entered).toEqual(['a']);
    expect(budget.usage()).toEqual({ reads: 1, bytes: 2 * replyBytesMax });
  });

  it('lets no small read pass a large one for ever', async () => {
    const budget = budgetOf(4);
    const { entered, enter, settled } = given(budget);
    for (const orgId of ['a', 'b', 'c', 'd', 'e']) enter(orgId);
    void budget.enter('f', 1).then(() => entered.push('small'));
    await settled();
    budget.count('a', -1);
    await settled();
    void budget.enter('g', 1).then(() => entered.push('small'));
    await settled();
    expect(entered).toEqual(['a', 'b', 'c', 'd']);
    budget.leave('b', replyBytesMax);
    budget.leave('c', replyBytesMax);
    await settled();
    expect(entered.slice(4)).toEqual(['e', 'small', 'small']);
  });

  it('leaves a connection to the others', async () => {
    const budget = budgetOf(100, 3);
    const { entered, enter, settled } = given(budget);
    for (const orgId of ['a', 'a', 'a', 'b']) enter(orgId);
    await settled();
    expect(entered).toEqual(['a', 'a', 'b']);
  });

  it('is nothing again after all, and fails what waits too long', async () => {
    const budget = budgetOf(4, 100, 1);
    await budget.enter('a', replyBytesMax);
    await expect(budget.enter('a', replyBytesMax)).rejects.toThrow('no room');
    budget.leave('a', replyBytesMax);
    await budget.enter('a', replyBytesMax);
    budget.leave('a', replyBytesMax);
    expect(budget.usage()).toEqual({ reads: 0, bytes: 0 });
  });
});
