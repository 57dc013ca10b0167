import type { Kind } from '../../../shared/documents/document.ts';
import { faces, untold, type Incoming } from './faces.ts';
import { settle, type SettleOptions } from './settle.ts';
import type { Store, StoredDocument } from './store.ts';

export type FanOutOptions = SettleOptions & {
  /** Called between chunks; throws when the work is no longer ours. */
  checkpoint: () => void;
};

/**
 * Brings up to date every document that shows one of these entities, or should: those that refer to it (also
 * a parent that it has left), and the parent that its own state names. Works in chunks of bounded size. What
 * dependents have been shown is noted at the end, so a crash before repeats the whole, and a repetition of a
 * finished one costs nothing.
 */
export async function fanOut(options: FanOutOptions, kind: Kind, entities: StoredDocument[]): Promise<void> {
  const byDependent = new Map<Kind, Plan>();
  for (const entity of entities) {
    for (const edge of untold(kind, entity.fanned, entity.own)) {
      const plan = byDependent.get(edge.from) ?? {
        refs: new Set(),
        parents: new Set(),
        lost: new Map(),
        orgIds: new Set(),
      };
      byDependent.set(edge.from, plan);
      addTo(plan, edge, kind, entity);
    }
  }
  for (const [from, plan] of byDependent) {
    const parents = await parentsConcerned(options.store, from, plan, entities);
    const seen = new Set(parents);
    for (let start = 0; start < parents.length; start += parentChunk) {
      options.checkpoint();
      await settle(options, from, parents.slice(start, start + parentChunk));
    }
    for await (const ids of found(options.store, from, plan)) {
      options.checkpoint();
      const rest = ids.filter((id) => !seen.has(id));
      if (rest.length > 0) await settle(options, from, rest);
    }
  }
  await noteShown(options.store, kind, entities);
}

const parentChunk = 500;

/** Where to look for the dependents of one kind. */
type Plan = {
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

async function* found(store: Store, from: Kind, { orgIds, refs, lost }: Plan): AsyncIterable<string[]> {
  const orgs = [...orgIds];
  if (orgs.length === 0) return;
  if (refs.size > 0) yield* store.dependents(from, orgs, { refs: [...refs] });
  for (const [parent, ids] of lost) yield* store.dependents(from, orgs, { parent, ids });
}

/**
 * Of the parents named, those that these children can concern. A document that shows the first of its
 * children only is not touched by one that comes after the first it shows.
 */
async function parentsConcerned(
  store: Store,
  from: Kind,
  plan: Plan,
  entities: StoredDocument[],
): Promise<string[]> {
  const { parents, first } = plan;
  if (!first || parents.size === 0) return [...parents];
  const earliest = new Map<string, string>();
  for (const { own, byCreated } of entities) {
    const parent = (own as Record<string, string> | undefined)?.[first.parent];
    if (!parent || !byCreated) continue;
    const known = earliest.get(parent);
    if (known === undefined || byCreated < known) earliest.set(parent, byCreated);
  }
  const documents = await store.read(from, [...parents]);
  return documents
    .filter(({ _id, joined }) => {
      const shown = (joined as Record<string, { byCreated: string } | null> | undefined)?.[first.name];
      return !shown || (earliest.get(_id) ?? '') <= shown.byCreated;
    })
    .map(({ _id }) => _id);
}

async function noteShown(store: Store, kind: Kind, entities: StoredDocument[]): Promise<void> {
  const marks = entities.flatMap(({ _id, revision, own, fanned }) => {
    const shown = faces(kind, own);
    const edges = Object.keys(shown);
    if (edges.length === 0 || edges.every((edge) => fanned?.[edge] === shown[edge])) return [];
    return [{ id: _id, revision, fanned: shown }];
  });
  await store.markFanned(kind, marks);
}
