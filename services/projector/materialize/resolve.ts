import type { Kind } from '../../../shared/documents/document.ts';
import type { Edge } from '../projections/define.ts';
import { projections } from '../projections/projections.ts';
import type { Referred, Store } from './store.ts';

/** A living document to be joined. */
export type Target = { id: string; orgId: string; own: unknown };

/** What the joins of a document come to. `refs` names all that it refers to, also what is missing. */
export type Joined = { joined: object; refs: string[]; ownerDeleted: boolean };

type Found = Map<Kind, Map<string, Referred>>;
type ByParent = Map<string, Referred[]>;

/**
 * Joins documents of one kind: children by their parents' ids, then one read a kind for all that is referred
 * to. What belongs to another organization, or is deleted, counts as missing.
 */
export async function resolve(store: Store, kind: Kind, targets: Target[]): Promise<Map<string, Joined>> {
  const { edges } = projections[kind];
  const children = new Map<string, ByParent>();
  await Promise.all(
    Object.entries(edges).map(async ([name, edge]) => {
      if (edge.type === 'children') children.set(name, await readChildren(store, edge, targets));
      if (edge.type === 'first') children.set(name, await readFirst(store, edge, targets));
    }),
  );
  const wanted = new Map<Kind, Set<string>>();
  for (const target of targets) {
    for (const edge of Object.values(edges)) {
      for (const id of namedIds(edge, target, children)) {
        wanted.set(edge.to, (wanted.get(edge.to) ?? new Set()).add(id));
      }
    }
  }
  const found: Found = new Map();
  await Promise.all(
    [...wanted].map(async ([to, ids]) => {
      const entities = await store.refer(to, [...ids]);
      found.set(to, new Map(entities.map((entity) => [entity._id, entity])));
    }),
  );
  return new Map(targets.map((target) => [target.id, join(kind, target, children, found)]));
}

async function readChildren(
  store: Store,
  edge: Edge & { type: 'children' },
  targets: Target[],
): Promise<ByParent> {
  const orgIds = [...new Set(targets.map(({ orgId }) => orgId))];
  const found = await store.children(
    edge.to,
    edge.parent,
    orgIds,
    targets.map(({ id }) => id),
  );
  const byParent: ByParent = new Map();
  for (const child of found) {
    const parent = (child.own as Record<string, string>)[edge.parent] ?? '';
    byParent.set(parent, [...(byParent.get(parent) ?? []), child]);
  }
  return byParent;
}

async function readFirst(store: Store, edge: Edge & { type: 'first' }, targets: Target[]): Promise<ByParent> {
  const byParent: ByParent = new Map();
  for (const [orgId, some] of Map.groupBy(targets, (target) => target.orgId)) {
    const ids = some.map(({ id }) => id);
    const firsts = await store.firsts(edge.to, edge.parent, orgId, ids);
    for (const [id, first] of firsts) byParent.set(id, [first]);
  }
  return byParent;
}

const childrenOf = (children: Map<string, ByParent>, name: string, { id, orgId }: Target): Referred[] =>
  (children.get(name)?.get(id) ?? []).filter((child) => child.orgId === orgId);

/** The ids over an edge that have to be read to resolve it. */
function namedIds(edge: Edge, target: Target, children: Map<string, ByParent>): string[] {
  switch (edge.type) {
    case 'refer':
      return edge.ids(target.own as never);
    case 'through':
      return [...new Set(childrenOf(children, edge.via, target).map(({ own }) => edge.id(own as never)))];
    case 'owner':
      return [(target.own as Record<string, string>)[edge.parent] ?? ''];
    case 'children':
    case 'first':
      return [];
  }
}

function join(kind: Kind, target: Target, children: Map<string, ByParent>, found: Found): Joined {
  const resolved: Record<string, unknown> = {};
  const refs = new Set<string>();
  let ownerDeleted = false;
  for (const [name, edge] of Object.entries(projections[kind].edges)) {
    const entities = found.get(edge.to);
    const ids = namedIds(edge, target, children);
    const mine = ids
      .map((id) => entities?.get(id))
      .filter((entity) => entity !== undefined && entity.orgId === target.orgId);
    if (edge.type === 'owner') {
      ownerDeleted ||= mine.some((entity) => entity?.deletedAt && !entity.lapsed);
      continue;
    }
    const kin = edge.type === 'children' || edge.type === 'first' ? childrenOf(children, name, target) : mine;
    for (const id of ids) refs.add(`${edge.to}:${id}`);
    if (kin !== mine) for (const entity of kin) refs.add(`${edge.to}:${entity?._id}`);
    const taken = kin.filter((entity) => entity?.own).map((entity) => edge.take(entity?.own as never));
    resolved[name] = 'single' in edge && edge.single ? (taken[0] ?? null) : taken;
  }
  return { joined: projections[kind].document(resolved as never), refs: [...refs].sort(), ownerDeleted };
}
