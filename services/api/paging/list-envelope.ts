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
          'The items of the page, in the order of the list; fewer than `limit` where they are large.',
        ),
      hasMore: z.boolean().describe('Whether more pages follow, however many items there are on this one.'),
      nextCursor: z
        .string()
        .nullable()
        .describe('Opaque cursor to pass as `startingAfter` for the next page; null on the last page.'),
      url: z.string().describe('The path of the request.'),
    })
    .meta({ id, description: 'One page of a list.' });

/** A page in the list envelope; `keyOf` gives the sort key that the list is ordered by, `path` that of the request. */
export function listEnvelope<T, Presented>(
  { items, hasMore }: Page<T>,
  scope: CursorScope,
  path: string,
  keyOf: (item: T) => string | undefined,
  present: (item: T) => Presented,
) {
  const last = items.at(-1);
  const lastKey = last && keyOf(last);
  return { object: 'list' as const, data: items.map(present), ...endOf(lastKey, hasMore, scope, path) };
}

function endOf(lastKey: string | undefined, hasMore: boolean, scope: CursorScope, path: string) {
  const nextCursor = hasMore && lastKey !== undefined ? encodeCursor(lastKey, scope) : null;
  return { hasMore, nextCursor, url: path };
}

/**
 * The JSON text of the same envelope, each item of which is written piece by piece. The page ends before its last
 * item where `isFull` says so, but holds one item at the least.
 */
export async function* listChunks<T>(
  { items, hasMore }: Page<T>,
  scope: CursorScope,
  path: string,
  keyOf: (item: T) => string | undefined,
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
  const end = endOf(last && keyOf(last), hasMore || count < items.length, scope, path);
  yield `],${JSON.stringify(end).slice(1)}`;
}
