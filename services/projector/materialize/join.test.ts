import type { ChildrenEdge } from '../projections/define-projection.ts';
import { edgesOf } from './edges.ts';
import { recheckReferences } from './join.ts';
import type { Store } from './store.ts';

it('a document whose children do not fit into the recheck is joined again', async () => {
  const edge = edgesOf('ticket').find((one) => one.type === 'children') as ChildrenEdge;
  const store = {
    readRevisions: async () => new Map(),
    readFirstChildren: async () => ({ children: new Map(), remaining: ['ti_2'] }),
  } as unknown as Store;
  const joinings = ['ti_1', 'ti_2'].map((id) => ({
    id,
    orgId: 'org_1',
    ids: edgesOf('ticket').map(() => []),
  }));
  const references = { byKind: new Map(), byParent: new Map([[edge, new Map()]]) };
  expect(await recheckReferences(store, 'ticket', joinings, references)).toEqual(['ti_2']);
});
