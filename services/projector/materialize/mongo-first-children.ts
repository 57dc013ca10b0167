import { idIn } from './edges.ts';
import type { Child, Store } from './store.ts';

/** Parents looked for in one read, and children that it gives. */
const parentsPerRead = 1_000;
const childrenPerRead = 2_000;
/** Children held at a time, of about a kilobyte each; further parents are left for later. */
const childrenMax = 10_000;

/** Reads children in an order that an index has: one range of it a parent. Without one, in that of the store. */
export type ReadChildren = (
  filter: object,
  order: Record<string, 1> | null,
  limit: number,
) => Promise<Child[]>;

/**
 * The first children of many parents. Families that are small share one read; of one that is large the read tells
 * the first ones, and the next read begins behind it. A document that is written meanwhile stays where it is in the
 * index unless its state changes, and then its own fan-out follows; each child counts once all the same.
 */
export async function readFirstChildren(
  read: ReadChildren,
  { parent, max }: Parameters<Store['readFirstChildren']>[1],
  parents: Parameters<Store['readFirstChildren']>[2],
): ReturnType<Store['readFirstChildren']> {
  const field = `state.${parent}`;
  const inOrder = { [field]: 1, orgId: 1, byCreated: 1 } as const;
  const families = new Map<string, Map<string, Child>>();
  const open = [...parents.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  let held = 0;
  const keep = (child: Child) => {
    const id = idIn(child.state, parent);
    const family = families.get(id) ?? new Map<string, Child>();
    families.set(id, family);
    if (child.orgId !== parents.get(id) || (family.size >= max && !family.has(child._id))) return;
    if (!family.has(child._id)) held += 1;
    family.set(child._id, child);
  };
  while (open.length > 0 && held < childrenMax) {
    const sought = open.slice(0, parentsPerRead);
    const orgIds = [...new Set(sought.map((id) => parents.get(id)))];
    const limit = Math.min(childrenPerRead, sought.length * max);
    const found = await read(
      { [field]: { $in: sought }, orgId: { $in: orgIds }, byCreated: { $gte: '' } },
      inOrder,
      limit,
    );
    for (const child of found) keep(child);
    const last = found.at(-1);
    if (found.length < limit || !last) {
      open.splice(0, sought.length);
      continue;
    }
    // The read ended within this family.
    const lastId = idIn(last.state, parent);
    if ((families.get(lastId)?.size ?? 0) < max) {
      const filter = { [field]: lastId, orgId: parents.get(lastId), byCreated: { $gte: '' } };
      for (const child of await read(filter, inOrder, max)) keep(child);
    }
    open.splice(0, sought.indexOf(lastId) + 1);
  }
  const children = [...families].map(([id, family]): [string, Child[]] => [id, [...family.values()]]);
  return { children: new Map(children), remaining: open };
}
