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
    const { $in: wanted } = (filter as { 'state.ticketId': { $in: string[] } })['state.ticketId'];
    // MongoDB matches a list if it matches one of its elements.
    const matches = ({ state }: Child) => {
      const ticketIds = [state?.ticketId].flat() as string[];
      return ticketIds.some((id) => wanted.includes(id));
    };
    return children.filter(matches).slice(-max);
  };
  const parents = new Map(['ti_1', 'ti_2'].map((id) => [id, 'org_1']));
  const by = { parentField: 'ticketId', max: 1 };
  const { children: found, remaining } = await readFirstChildren(read, by, parents);
  expect(remaining).toEqual([]);
  expect([...found.keys()].filter((id) => parents.has(id)).length).toBeLessThanOrEqual(2);
});
