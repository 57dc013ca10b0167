import type { Kind } from '../../../shared/documents/document.ts';
import { incomingEdges, untold, type Incoming } from './faces.ts';
import type { Store, StoredDocument } from './store.ts';

/** Where to look for the dependents of one kind. */
export type Plan = {
  orgIds: Set<string>;
  /** As documents name what they refer to. */
  refs: Set<string>;
  /** Documents that the entities' own states name as parent. */
  parents: Set<string>;
  /** Set where those parents show the first of their children only. */
  first?: { name: string; parent: string };
  /** Deleted owners, by the field that names them. */
  lost: Map<string, string[]>;
};

/** The kinds whose documents can depend on one of this kind. */
export const dependentKinds = (kind: Kind): Set<Kind> => new Set(incomingEdges(kind).map(({ from }) => from));

/** Where the dependents of one kind are that have still to be told of these entities. */
export function planOf(kind: Kind, from: Kind, entities: StoredDocument[]): Plan {
  const plan: Plan = { orgIds: new Set(), refs: new Set(), parents: new Set(), lost: new Map() };
  for (const entity of entities)
    for (const edge of untold(kind, entity.fanned, entity.own))
      if (edge.from === from) addTo(plan, edge, kind, entity);
  return plan;
}

function addTo(plan: Plan, { edge, name }: Incoming, kind: Kind, entity: StoredDocument): void {
  if (entity.orgId) plan.orgIds.add(entity.orgId);
  switch (edge.type) {
    case 'owner':
      if (entity.deletedAt && !entity.lapsed)
        plan.lost.set(edge.parent, [...(plan.lost.get(edge.parent) ?? []), entity._id]);
      return;
    case 'children':
    case 'first':
      if (entity.own) plan.parents.add((entity.own as Record<string, string>)[edge.parent] ?? '');
      if (edge.type === 'first') plan.first = { name, parent: edge.parent };
      plan.refs.add(`${kind}:${entity._id}`);
      return;
    case 'refer':
    case 'through':
      plan.refs.add(`${kind}:${entity._id}`);
  }
}

/**
 * The parents that states which have passed name. A worker that lost its partition may have seen such a state
 * while it stood, and have a write under way on the parent: nothing in the store leads there any more.
 */
export function formerParents(kind: Kind, from: Kind, passed: object[]): string[] {
  const fields = incomingEdges(kind).flatMap((one) =>
    one.from === from && (one.edge.type === 'children' || one.edge.type === 'first') ? [one.edge.parent] : [],
  );
  return [
    ...new Set(passed.flatMap((own) => fields.map((field) => (own as Record<string, string>)[field] ?? ''))),
  ];
}

/**
 * Of the parents named, those that these children can concern. A document that shows the first of its
 * children only is not touched by one that comes after the first it shows, while that stands as it is shown:
 * whoever removes it then looks for the next one after this, and finds these; one who removed it before may
 * not have, and may die before the last look.
 */
export async function parentsConcerned(
  store: Store,
  kind: Kind,
  from: Kind,
  { parents, first }: Plan,
  entities: StoredDocument[],
): Promise<string[]> {
  if (!first || parents.size === 0) return [...parents];
  const earliest = new Map<string, string>();
  for (const { own, byCreated } of entities) {
    const parent = (own as Record<string, string> | undefined)?.[first.parent];
    if (!parent || !byCreated) continue;
    const known = earliest.get(parent);
    if (known === undefined || byCreated < known) earliest.set(parent, byCreated);
  }
  const seen = (await store.read(from, [...parents])).map(({ _id, orgId, joined }) => {
    const shown = (joined as Record<string, First | null> | undefined)?.[first.name];
    const isLater = shown && (earliest.get(_id) ?? '') > shown.byCreated;
    return { _id, orgId, before: isLater ? shown : null };
  });
  const shownIds = new Set(seen.flatMap(({ before }) => before?.id ?? []));
  const children = shownIds.size > 0 ? await store.read(kind, [...shownIds]) : [];
  const standing = new Map(children.map((child) => [child._id, child]));
  const stands = (parent: string, orgId: string | null, { id, byCreated }: First) => {
    const found = standing.get(id);
    const names = (found?.own as Record<string, string> | undefined)?.[first.parent];
    return names === parent && found?.orgId === orgId && found.byCreated === byCreated;
  };
  return seen
    .filter(({ _id, orgId, before }) => !before || !stands(_id, orgId, before))
    .map(({ _id }) => _id);
}

type First = { id: string; byCreated: string };
