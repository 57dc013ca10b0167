import type { Kind } from '../../../shared/documents/document.ts';
import type { Change } from '../events/change.ts';
import { reconcile, type Outcome, type Reconciled } from './reconcile.ts';
import { chunkSize, updateDependents, type UpdateDeps } from './fan-out.ts';
import type { StoredState } from './store.ts';

/**
 * Applies changes of one kind, in log order, and refreshes every document that depends on them. When it returns, their
 * effect is durable; when it throws, any part may be, and the caller applies them again. Returns the changes that the
 * rules or the store refused.
 */
export async function applyChanges<K extends Kind>(
  deps: UpdateDeps,
  kind: K,
  changes: Change<K>[],
): Promise<Outcome<K>['rejections']> {
  const byId = Map.groupBy(changes, ({ id }) => id);
  const ids = [...byId.keys()];
  const refused: Outcome<K>['rejections'] = [];
  for (let start = 0; start < ids.length; start += chunkSize) {
    deps.signal.throwIfAborted();
    const chunk = ids.slice(start, start + chunkSize);
    const { entities, rejections } = await reconcile(deps, kind, chunk, byId);
    refused.push(...rejections);
    deps.onProgress();
    const superseded = [...entities.values()].flatMap((entity) =>
      otherStates(entity, byId.get(entity.id) ?? []),
    );
    await updateDependents(deps, kind, [...entities.values()], superseded);
  }
  return refused;
}

/** The states in changes of an entity that are not its state now. Invariant 6 in docs/internals/consistency.md needs them. */
const otherStates = <K extends Kind>({ state }: Reconciled, changes: Change<K>[]): StoredState[] =>
  changes.flatMap((change) => (change.op === 'upsert' && change.state !== state ? [change.state] : []));
