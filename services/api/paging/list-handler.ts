import type { Reply, Scope } from '../http/route.ts';
import { decodeCursor, encodeCursor, type CursorScope } from './cursor.ts';
import { listChunks, listEnvelope, type ItemWriter } from './list-envelope.ts';
import type { Page } from './page-query.ts';
import { readListed } from './readable.ts';
import type { ServedKind } from '../../../shared/documents/served-indexes.ts';

/** One request for a list. */
type List<T, Presented> = {
  /** The kind of its items. */
  kind: ServedKind;
  /** The cursors of the list are valid only with this scope and the organization. */
  cursorScope: Omit<CursorScope, 'orgId'>;
  /** Reads the page after a sort key; the first page for null. */
  read: (after: string | null) => Promise<Page<T>>;
  present: (item: T) => Presented;
  /** Returns a writer if the page is too large to present in memory. */
  writer?: (page: Page<T>) => ItemWriter<T> | null;
};

type Request<P, Q> = { params: P; query: Q };
type Body<Presented> = ReturnType<typeof listEnvelope<Presented>>;

/**
 * The handler of a list endpoint: decodes the cursor, reads a page and answers with the list envelope. A document that
 * cannot be presented is left out: it would make its page an error, and end each walk through the list there.
 */
export const listHandler =
  <P, Q extends { startingAfter?: string | undefined }, T extends { _id: string }, Presented>(
    listOf: (scope: Scope, request: Request<P, Q>) => List<T, Presented>,
  ) =>
  async (scope: Scope, request: Request<P, Q>): Promise<Reply<Body<Presented>>> => {
    const { orgId, path, store } = scope;
    const { startingAfter } = request.query;
    const list = listOf(scope, request);
    const cursorScope = { orgId, ...list.cursorScope };
    const cursorOf = (sortKey: string | null) =>
      sortKey === null ? null : encodeCursor(sortKey, cursorScope);
    const page = await list.read(
      startingAfter === undefined ? null : decodeCursor(startingAfter, cursorScope),
    );
    const items: T[] = [];
    const presented: Presented[] = [];
    for (const item of page.items) {
      const one = readListed(list.kind, item._id, () => list.present(item), store.onUnreadable);
      if (one === null) continue;
      items.push(item);
      presented.push(one);
    }
    const writer = list.writer?.({ ...page, items });
    if (writer) return listChunks(path, { ...page, items }, cursorOf, writer);
    const body = listEnvelope(path, presented, cursorOf(page.nextKey));
    return { body, nextCursor: () => body.nextCursor };
  };
