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
  // In the order of the index, which sorts a list by its smallest element. The first read ends with the list.
  const children = [
    ...['a', 'b', 'c', 'd', 'e'].map((id) => child(id, 'ti_1')),
    child('f', ['ti_1', 'ti_2']),
    child('g', 'ti_2'),
    child('h', 'ti_3'),
  ];
  const read: ReadChildren = async (filter, _order, max) => {
    const { $in: wanted } = (filter as { 'state.ticketId': { $in: string[] } })['state.ticketId'];
    // MongoDB matches a list if it matches one of its elements.
    const matches = ({ state }: Child) => {
      const ticketIds = [state?.ticketId].flat() as string[];
      return ticketIds.some((id) => wanted.includes(id));
    };
    return children.filter(matches).slice(0, max);
  };
  const parents = new Map(['ti_1', 'ti_2', 'ti_3'].map((id) => [id, 'org_1']));
  const by = { parentField: 'ticketId', max: 2 };
  const { children: found, remaining } = await readFirstChildren(read, by, parents);
  expect(remaining).toEqual([]);
  const families = [...found].map(([id, family]) => ({ id, children: family.map(({ _id }) => _id) }));
  expect(families.filter(({ id }) => parents.has(id))).toEqual([
    { id: 'ti_1', children: ['a', 'b'] },
    { id: 'ti_2', children: ['g'] },
    { id: 'ti_3', children: ['h'] },
  ]);
});
