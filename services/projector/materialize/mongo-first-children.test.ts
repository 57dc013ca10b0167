import { type ReadChildren, readFirstChildren } from './mongo-first-children.ts';
import type { Child } from './store.ts';

const child = (id: string, ticketId: unknown): Child => ({
  _id: id,
  orgId: 'org_1',
  revision: 1,
  byCreated: id,
  state: { ticketId },
});

test('the read finds each family although an edit has replaced the parent id of a child by a list', async () => {
  const children = [child('a', 'ti_1'), child('b', 'ti_2'), child('c', ['ti_1', 'ti_2'])];
  const read: ReadChildren = async (filter, _order, max) => {
    const { $in: wanted } = (filter as Record<string, { $in: string[] }>)['state.ticketId'] ?? { $in: [] };
    const found = children.filter(({ state }) =>
      [state?.ticketId].flat().some((id) => wanted.includes(id as string)),
    );
    return found.slice(-max);
  };
  const parents = new Map(['ti_1', 'ti_2'].map((id) => [id, 'org_1']));
  const { children: found, remaining } = await readFirstChildren(
    read,
    { parentField: 'ticketId', max: 1 },
    parents,
  );
  expect(remaining).toEqual([]);
  expect([...found.keys()].filter((id) => parents.has(id)).length).toBeLessThanOrEqual(2);
});
