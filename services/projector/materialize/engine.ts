import type { Kind } from '../../../shared/documents/document.ts';
import type { Change, Lapse, Rejection } from '../events/change.ts';
import { fanOut, settleChunk, type FanOutOptions } from './fan-out.ts';
import { settle } from './settle.ts';

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
    const { documents, rejections } = await settle(
      options,
      kind,
      ids.slice(start, start + settleChunk),
      byId,
    );
    refused.push(...rejections);
    await fanOut(options, kind, [...documents.values()]);
  }
  return refused;
}
