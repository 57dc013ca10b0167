import type { Kind } from '../../../shared/documents/document.ts';
import type { Change, Rejection } from '../events/change.ts';
import { reconcile, type Outcome } from './reconcile.ts';
import { chunkSize, updateDependents, type UpdateDeps } from './fan-out.ts';

/**
 * Applies changes of one kind, in the order of their log, and brings every document that they concern up to
 * date. When it returns, the effect of all of them is durable; when it throws, any part may be, and applying
 * them again is right. Returns the changes that were refused, by the rules or by the store.
 */
export async function applyChanges(
  deps: UpdateDeps,
  kind: Kind,
  changes: Change[],
): Promise<{ change: Change; rejection: Rejection }[]> {
  const byId = Map.groupBy(changes, ({ id }) => id);
  const ids = [...byId.keys()];
  const refused: Outcome['rejections'] = [];
  for (let start = 0; start < ids.length; start += chunkSize) {
    deps.signal.throwIfAborted();
    const chunk = ids.slice(start, start + chunkSize);
    const { entities, rejections } = await reconcile(deps, kind, chunk, byId);
    refused.push(...rejections);
    deps.onProgress();
    const passed = [...entities.keys()].flatMap((id) => passedStates(byId.get(id) ?? []));
    await updateDependents(deps, kind, [...entities.values()], passed);
  }
  return refused;
}

/** The states among the changes of an entity that a later one of them superseded. */
const passedStates = (changes: Change[]): object[] =>
  changes.length < 2 ? [] : changes.flatMap((change) => (change.op === 'upsert' ? [change.state] : []));
