import { edgesOf, idIn } from '../../services/projector/materialize/edges.ts';
import { idsInState, join, type References } from '../../services/projector/materialize/join.ts';
import type { Child } from '../../services/projector/materialize/store.ts';
import {
  type EntityState,
  examples,
  type Kind,
  resources,
  states,
} from '../../shared/documents/resources.ts';

type Given = { kind: Kind; entity: Child };

const stateOf = <K extends Kind>(kind: K, changes: Record<string, unknown>) =>
  states[kind].parse({ ...examples[kind], ...changes }) as EntityState[K];

/** A living entity: the example of its kind with changes. */
export function living<K extends Kind>(
  kind: K,
  changes: Record<string, unknown> = {},
  orgId = 'org_1',
): Given {
  const state = stateOf(kind, changes);
  const { byCreated = '' } = resources[kind].sortKeys(state);
  return { kind, entity: { _id: state.id, orgId, revision: 1, state, byCreated } };
}

/** Joins documents of `org_1` from these entities, without a store. */
export const exampleJoin = (...entities: Given[]) => ({
  whenJoined: <K extends Kind>(kind: K, changes: Record<string, unknown> = {}) => {
    const state = stateOf(kind, changes);
    const references: References = { byKind: new Map(), byParent: new Map() };
    for (const edge of edgesOf(kind)) {
      const ofKind = entities.filter((item) => item.kind === edge.to).map(({ entity }) => entity);
      references.byKind.set(edge.to, new Map(ofKind.map((entity) => [entity._id, entity])));
      if (edge.type !== 'children') continue;
      const children = ofKind
        .filter((child) => idIn(child.state, edge.parentField) === state.id)
        .sort((a, b) => ((a.byCreated ?? '') < (b.byCreated ?? '') ? -1 : 1));
      references.byParent.set(edge, new Map([[state.id, children.slice(0, edge.max)]]));
    }
    return join(kind, { id: state.id, orgId: 'org_1', ids: idsInState(kind, state) }, references);
  },
});
