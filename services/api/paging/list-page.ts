import type { ServedKind } from '../../../shared/documents/served-indexes.ts';
import type { Answer, Scope } from '../http/route.ts';
import { bufferedLengthMax } from '../http/send-answer.ts';
import { readListed } from '../store/readable.ts';
import { type CursorScope, decodeCursor, encodeCursor } from './cursor.ts';
import { chunkLength, membersOf } from './json-chunks.ts';
import { listEnd, type ListEnvelope, listEnvelope } from './list-envelope.ts';
import type { Page } from './page-query.ts';

/** One request for a list. */
type ListRequest<T, Presented> = {
  /** The kind of its items. */
  kind: ServedKind;
  /** The cursors of the list are valid only with this scope and the organization. */
  cursorScope: Omit<CursorScope, 'orgId'>;
  /** The cursor that the client sent; undefined for the first page. */
  startingAfter: string | undefined;
  /** Reads the page after a sort key; the first page for null. */
  read: (after: string | null) => Promise<Page<T>>;
  present: (item: T) => Presented;
};

/** A page of a list that has been read and presented. */
export type ListPage<T, Presented> = {
  /** The path of its request. */
  path: string;
  /** The stored items, without those that cannot be presented. */
  items: T[];
  /** The same items as responses show them, in the same order. */
  presented: Presented[];
  /** The cursor of the next page; null on the last page. */
  nextCursor: string | null;
  /** The cursor of a page that starts after a sort key. */
  cursorOf: (sortKey: string) => string;
};

/**
 * Decodes the cursor, reads the page and presents its items. Leaves out a document that cannot be presented. Otherwise
 * one broken document would make its page an error, and no client could read the list beyond it.
 */
export async function readListPage<T extends { _id: string }, Presented>(
  { orgId, path, store }: Scope,
  { kind, cursorScope, startingAfter, read, present }: ListRequest<T, Presented>,
): Promise<ListPage<T, Presented>> {
  const scope = { orgId, ...cursorScope };
  const cursorOf = (sortKey: string) => encodeCursor(sortKey, scope);
  const page = await read(startingAfter === undefined ? null : decodeCursor(startingAfter, scope));
  const items: T[] = [];
  const presented: Presented[] = [];
  for (const item of page.items) {
    const shown = readListed(kind, item._id, () => present(item), store.onUnreadable);
    if (shown === null) continue;
    items.push(item);
    presented.push(shown);
  }
  const nextCursor = page.nextKey === null ? null : cursorOf(page.nextKey);
  return { path, items, presented, nextCursor, cursorOf };
}

/** Answers with a page as a whole. */
export const answerPage = <Presented>({
  path,
  presented,
  nextCursor,
}: Pick<ListPage<unknown, Presented>, 'path' | 'presented' | 'nextCursor'>): Answer<
  ListEnvelope<Presented>
> => ({ body: listEnvelope(path, presented, nextCursor), readNextCursor: () => nextCursor });

/** Writes the items of a page one after another, as pieces of JSON text. */
export type ItemWriter<T, Presented> = {
  write: (item: T, presented: Presented) => AsyncIterable<string>;
  /** Whether the page has to end before its next item. */
  isFull: () => boolean;
  /** The sort key of an item. Every item of a list has one, because the query is a range of sort keys. */
  keyOf: (item: T) => string | undefined;
};

/**
 * Answers with the same envelope, written item by item. The page ends after the item that fills it. No item begins
 * after `bufferedLengthMax` characters: `sendAnswer` holds that many before it sends the headers, among them the link
 * to the next page, which depends on the last item.
 */
export function streamPage<T, Presented>(
  { path, items, presented, nextCursor, cursorOf }: ListPage<T, Presented>,
  { write, isFull, keyOf }: ItemWriter<T, Presented>,
): Answer<ListEnvelope<Presented>> {
  let itemsBegun = 0;
  const readNextCursor = (): string | null => {
    const lastItem = items[itemsBegun - 1];
    const areAllBegun = lastItem === undefined || itemsBegun === items.length;
    if (areAllBegun) return nextCursor;
    const key = keyOf(lastItem);
    return key === undefined ? null : cursorOf(key);
  };
  async function* chunks(): AsyncGenerator<string, void> {
    let yieldedLength = 0;
    let text = '{"object":"list","data":[';
    for (const [index, item] of items.entries()) {
      if (itemsBegun > 0) {
        const writtenLength = yieldedLength + text.length;
        if (isFull() || writtenLength >= bufferedLengthMax) break;
        text += ',';
      }
      itemsBegun += 1;
      for await (const piece of write(item, presented[index] as Presented)) {
        text += piece;
        if (text.length < chunkLength) continue;
        yield text;
        yieldedLength += text.length;
        text = '';
      }
    }
    yield `${text}],${membersOf(listEnd(path, readNextCursor()))}}`;
  }
  return { chunks: chunks(), readNextCursor };
}
