import { z } from 'zod';
import { encodeCursor, type CursorScope } from './cursor.ts';
import { pageSizeMax } from './page-parameters.ts';
import type { Page } from './page-query.ts';

/** `id` names the component of the document, `TicketList`. */
export const listSchema = <T extends z.ZodType>(id: string, item: T) =>
  z
    .strictObject({
      object: z.literal('list').describe('Always `list`.'),
      data: z
        .array(item)
        .max(pageSizeMax)
        .describe(
          'The items of the page, in the order of the list; fewer than `limit`, perhaps none, where they are ' +
            'large or where few of those looked at match the filters.',
        ),
      hasMore: z
        .boolean()
        .describe('Whether to go on: a page that holds few items, or none, may have others behind it.'),
      nextCursor: z
        .string()
        .nullable()
        .describe('Opaque cursor to pass as `startingAfter` for the next page; null on the last page.'),
      url: z.string().describe('The path of the request.'),
    })
    .meta({ id, description: 'One page of a list.' });

/** The list that a page is of: what its cursors are bound to, the path of the request, and the sort key of an item. */
export type ListOf<T> = { scope: CursorScope; path: string; keyOf: (item: T) => string | undefined };

/** A page in the list envelope. */
export const listEnvelope = <T, Presented>(
  { items, nextKey }: Pick<Page<T>, 'items' | 'nextKey'>,
  list: Omit<ListOf<T>, 'keyOf'>,
  present: (item: T) => Presented,
) => ({ object: 'list' as const, data: items.map(present), ...endOf(nextKey, list) });

const endOf = (nextKey: string | null, { scope, path }: Omit<ListOf<unknown>, 'keyOf'>) => ({
  hasMore: nextKey !== null,
  nextCursor: nextKey === null ? null : encodeCursor(nextKey, scope),
  url: path,
});

/**
 * The JSON text of the same envelope, each item of which is written piece by piece. The page ends before its last
 * item where `isFull` says so, but holds one item at the least.
 */
export async function* listChunks<T>(
  { items, nextKey }: Pick<Page<T>, 'items' | 'nextKey'>,
  list: ListOf<T>,
  { write, isFull }: { write: (item: T) => AsyncIterable<string>; isFull: () => boolean },
): AsyncGenerator<string, void> {
  yield '{"object":"list","data":[';
  let count = 0;
  for (const item of items) {
    if (count > 0 && isFull()) break;
    if (count > 0) yield ',';
    yield* write(item);
    count += 1;
  }
  const last = items[count - 1];
  const end = count < items.length && last !== undefined ? (list.keyOf(last) ?? null) : nextKey;
  yield `],${JSON.stringify(endOf(end, list)).slice(1)}`;
}
