import type { Kind } from '../../../shared/documents/document.ts';
import type { Change, Lapse, Rejection } from '../events/change.ts';
import { fanOut, settleChunk, type FanOutOptions } from './fan-out.ts';
import { settle } from './settle.ts';
import type { StoredDocument } from './store.ts';

/**
 * Applies changes of one kind, in the order of their log, and brings every document that they concern up to
 * date. When it returns, the effect of all of them is durable; when it throws, any part may be, and applying
 * them again is right. Gives the changes that the rules refused.
 */
export async function applyChanges(
  options: FanOutOptions,
  kind: Kind,
  changes: (Change | Lapse)[],
): Promise<{ change: Change | Lapse; rejection: Rejection }[]> {
  const byId = Map.groupBy(changes, ({ id }) => id);
  const ids = [...byId.keys()];
  const refused: { change: Change | Lapse; rejection: Rejection }[] = [];
  for (let start = 0; start < ids.length; start += settleChunk) {
    options.checkpoint();
    const some = ids.slice(start, start + settleChunk);
    const { documents, rejections } = await settle(options, kind, some, byId);
    refused.push(...rejections);
    const passed = some.flatMap((id) => passedStates(byId.get(id) ?? [], documents.get(id)));
    await fanOut(options, kind, [...documents.values()], passed);
  }
  return refused;
}

/** The states among the changes of an entity that are not the one that it now has. */
const passedStates = (changes: (Change | Lapse)[], document: StoredDocument | undefined): object[] =>
  changes.flatMap((change) =>
    change.op === 'upsert' && !(document?.own && document.version === change.version) ? [change.own] : [],
  );
