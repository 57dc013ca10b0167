import type { Kind } from '../../../shared/documents/document.ts';
import { dependentKinds, formerParents, parentsConcerned, planOf, type Plan } from './dependents.ts';
import { faces, untold } from './faces.ts';
import { settle, type SettleOptions } from './settle.ts';
import type { Place, Store, StoredDocument } from './store.ts';

export type FanOutOptions = SettleOptions & {
  /** Called between chunks; throws when the work is no longer ours. */
  checkpoint: () => void;
};

/** How many documents are settled at a time; bounds what a batch or a fan-out holds in memory. */
export const settleChunk = 500;

/**
 * Brings up to date every document that shows one of these entities, or should: those that refer to it (also
 * a parent that it has left), and the parent that its own state names, or one of the states that have passed.
 * Reads a page of ids at a time and settles it in chunks. What dependents have been shown is noted at the end,
 * so a repetition of a finished fan-out costs nothing; how far it has come is noted after each page, so that
 * it goes on there after a crash.
 *
 * What lies before that place is not looked for again, and none is lost by it. The entity was written before
 * the first page was read, so whatever was there has been settled with it since. What came to refer to it
 * later, behind the place, is new or names something new, and finds the entity as it is by its own last look.
 * The place belongs to the state that was written: a write of another state leaves it out, and it is noted on
 * that revision alone.
 */
export async function fanOut(
  options: FanOutOptions,
  kind: Kind,
  entities: StoredDocument[],
  passed: object[],
): Promise<void> {
  const told = new Set<Kind>();
  for (const from of dependentKinds(kind)) {
    const open = entities.filter(({ fanned, own }) =>
      untold(kind, fanned, own).some((edge) => edge.from === from),
    );
    const former = formerParents(kind, from, passed);
    await settleAll(options, from, former);
    for (const [after, some] of Map.groupBy(open, (entity) => placeIn(entity, from))) {
      const plan = planOf(kind, from, some);
      for (const parent of former) plan.parents.delete(parent);
      const parents = await parentsConcerned(options.store, kind, from, plan, some);
      await settleAll(options, from, parents);
      await tell(options, from, plan, { seen: new Set([...former, ...parents]), after }, (reached) =>
        note(options.store, kind, some, told, reached),
      );
    }
    told.add(from);
  }
  await note(options.store, kind, entities, told);
}

const placeIn = ({ reached }: StoredDocument, from: Kind): string =>
  reached?.kind === from ? reached.after : '';

async function settleAll(options: FanOutOptions, kind: Kind, ids: string[]): Promise<void> {
  for (let start = 0; start < ids.length; start += settleChunk) {
    options.checkpoint();
    await settle(options, kind, ids.slice(start, start + settleChunk));
  }
}

/** Settles the documents that refer to the entities, from a place on; then those whose owner is deleted. */
async function tell(
  options: FanOutOptions,
  from: Kind,
  { orgIds, refs, lost }: Plan,
  start: { seen: Set<string>; after: string },
  onPage: (reached: Place) => Promise<void>,
): Promise<void> {
  if (orgIds.size === 0) return;
  let after: string | null = refs.size > 0 ? start.after : null;
  while (after !== null) {
    const { ids, next } = await options.store.dependents(from, [...orgIds], { refs: [...refs] }, after);
    const rest = ids.filter((id) => !start.seen.has(id));
    await settleAll(options, from, rest);
    if (next !== null) await onPage({ kind: from, after: next });
    after = next;
  }
  for (const [parent, owners] of lost) {
    for (let place: string | null = ''; place !== null;) {
      const { ids, next } = await options.store.dependents(from, [...orgIds], { parent, ids: owners }, place);
      await settleAll(options, from, ids);
      place = next;
    }
  }
}

/** Notes what the dependents of the kinds told have been shown, and how far those of the next one have been. */
async function note(
  store: Store,
  kind: Kind,
  entities: StoredDocument[],
  told: Set<Kind>,
  reached?: Place,
): Promise<void> {
  const marks = entities.flatMap(({ _id, revision, own, fanned = {} }) => {
    const shown = Object.entries(faces(kind, own)).filter(([edge]) => told.has(edge.split(':')[0] as Kind));
    if (!reached && shown.every(([edge, hash]) => fanned[edge] === hash)) return [];
    const mark = { id: _id, revision, fanned: { ...fanned, ...Object.fromEntries(shown) } };
    return [{ ...mark, ...(reached && { reached }) }];
  });
  await store.markFanned(kind, marks);
}
