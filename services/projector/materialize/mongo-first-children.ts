import { idIn } from './edges.ts';
import type { Child, ChildrenPage, FirstChildrenQuery } from './store.ts';

/** The most parents whose children one command reads. */
const parentsPerRead = 1_000;
/** The most children that one command reads. */
const childrenPerRead = 2_000;
/** The most children in memory, about a kilobyte each. The caller reads the children of the remaining parents later. */
const childrenMax = 10_000;

/** Reads children in index order, one range per parent; without `order`, in the store's own order. */
export type ReadChildren = (filter: object, order: Record<string, 1> | null, max: number) => Promise<Child[]>;

/**
 * Reads the first children of many parents. Small families share one read. If its reply ends within a family, another
 * read completes it. A child never counts twice in spite of concurrent writes: Invariant 11 in docs/internals/joins.md.
 */
export async function readFirstChildren(
  read: ReadChildren,
  { parentField, max }: FirstChildrenQuery,
  parents: Map<string, string>,
): Promise<ChildrenPage> {
  const field = `state.${parentField}`;
  const inOrder = { [field]: 1, orgId: 1, byCreated: 1 } as const;
  const families = new Map<string, Map<string, Child>>();
  const remaining = inByteOrder([...parents.keys()]);
  let childCount = 0;
  const addChild = (child: Child) => {
    const id = idIn(child.state, parentField);
    const family = families.get(id) ?? new Map<string, Child>();
    families.set(id, family);
    if (child.orgId !== parents.get(id) || (family.size >= max && !family.has(child._id))) return;
    if (!family.has(child._id)) childCount += 1;
    family.set(child._id, child);
  };
  const readChildrenOf = (wanted: string[], limit: number) => {
    const orgIds = [...new Set(wanted.map((id) => parents.get(id)))];
    const filter = { [field]: { $in: wanted }, orgId: { $in: orgIds }, byCreated: { $gte: '' } };
    return read(filter, inOrder, limit);
  };
  while (remaining.length > 0 && childCount < childrenMax) {
    const wanted = remaining.slice(0, parentsPerRead);
    const limit = Math.min(childrenPerRead, wanted.length * max);
    const children = await readChildrenOf(wanted, limit);
    for (const child of children) addChild(child);
    const last = children.at(-1);
    if (children.length < limit || !last) {
      remaining.splice(0, wanted.length);
      continue;
    }
    // The read ended within the family of the last child. If an edit by hand has removed its parent's id, the family is
    // unknown, and only the first family is completed.
    const index = Math.max(0, wanted.indexOf(idIn(last.state, parentField)));
    const lastId = wanted[index] ?? '';
    if ((families.get(lastId)?.size ?? 0) < max) {
      const firstChildren = await readChildrenOf([lastId], max);
      for (const child of firstChildren) addChild(child);
    }
    remaining.splice(0, index + 1);
  }
  const byParent = [...families].map(([id, family]): [string, Child[]] => [id, [...family.values()]]);
  return { children: new Map(byParent), remaining };
}

/** The order of MongoDB's indexes. */
const inByteOrder = (ids: string[]): string[] =>
  ids
    .map((id) => Buffer.from(id))
    .sort((a, b) => a.compare(b))
    .map(String);
