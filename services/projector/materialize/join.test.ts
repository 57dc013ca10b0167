import type { ChildrenEdge } from '../projections/define-projection.ts';
import { edgesOf } from './edges.ts';
import { recheckReferences, type References } from './join.ts';
import type { Store } from './store.ts';

const edge = edgesOf('ticket').find(({ type }) => type === 'children') as ChildrenEdge;
const ticketOf = (id: string) => ({ id, orgId: 'org_1', ids: {} });
const referencesTo = (children: Map<string, object[]>) =>
  ({ byKind: new Map(), byParent: new Map([[edge, children]]) }) as unknown as References;

test('a document whose children do not fit into the recheck is joined again', async () => {
  const store = {
    readRevisions: async () => new Map(),
    readFirstChildren: async () => ({ children: new Map(), remaining: ['ti_2'] }),
  } as unknown as Store;
  const inputs = ['ti_1', 'ti_2'].map(ticketOf);
  expect(await recheckReferences(store, 'ticket', inputs, referencesTo(new Map()))).toEqual(['ti_2']);
});

/** The ids contain characters that a text of ids could use as separators. */
test.each<{ name: string; before: object[]; now: object[]; isJoinedAgain: boolean }>([
  {
    name: 'one child for two',
    before: [{ _id: 'a@1 b', revision: 2 }],
    now: [child('a', 1), child('b', 2)],
    isJoinedAgain: true,
  },
  { name: 'a new revision', before: [child('a', 1)], now: [child('a', 2)], isJoinedAgain: true },
  { name: 'another child', before: [child('a', 1)], now: [child('b', 1)], isJoinedAgain: true },
  {
    name: 'one more child',
    before: [child('a', 1)],
    now: [child('a', 1), child('b', 1)],
    isJoinedAgain: true,
  },
  {
    name: 'the same children',
    before: [child('a', 1), child('b@2', 1)],
    now: [child('a', 1), child('b@2', 1)],
    isJoinedAgain: false,
  },
])('a document is joined again after $name', async ({ before, now, isJoinedAgain }) => {
  const store = {
    readRevisions: async () => new Map(),
    readFirstChildren: async () => ({ children: new Map([['ti_1', now]]), remaining: [] }),
  } as unknown as Store;
  const references = referencesTo(new Map([['ti_1', before]]));
  const outdated = await recheckReferences(store, 'ticket', [ticketOf('ti_1')], references);
  expect(outdated).toEqual(isJoinedAgain ? ['ti_1'] : []);
});

function child(_id: string, revision: number) {
  return { _id, revision, state: { channelId: '' } };
}
