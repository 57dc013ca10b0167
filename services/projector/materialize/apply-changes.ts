import type { Kind } from '../../../shared/documents/document.ts';
import type { Change } from '../events/change.ts';
import { reconcile, type Outcome } from './reconcile.ts';
import { updateDependents, type UpdateDeps } from './fan-out.ts';
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
  deps.signal.throwIfAborted();
  const byId = Map.groupBy(changes, ({ id }) => id);
  const ids = [...byId.keys()];
  const { entities, rejections } = await reconcile(deps, kind, ids, byId);
  deps.onProgress();
  const applied = [...entities.values()];
  const superseded: StoredState[] = [];
  for (const { id, state } of applied)
    // The states that are not the entity's now. Invariant 6 in docs/internals/consistency.md needs them.
    for (const change of byId.get(id) ?? [])
      if (change.op === 'upsert' && change.state !== state) superseded.push(change.state);
  await updateDependents(deps, kind, applied, superseded);
  return rejections;
}
