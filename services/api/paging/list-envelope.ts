import { z } from 'zod';
import { encodeCursor, type CursorScope } from './cursor.ts';
import type { Page } from './page-query.ts';

export const listSchema = <T extends z.ZodType>(item: T) =>
  z.strictObject({
    object: z.literal('list'),
    data: z.array(item),
    hasMore: z.boolean(),
    nextCursor: z.string().nullable(),
    url: z.string(),
  });

/** A page in the list envelope; `keyOf` gives the sort key that the list is ordered by, `path` that of the request. */
export function listEnvelope<T, Presented>(
  { items, hasMore }: Page<T>,
  scope: CursorScope,
  path: string,
  keyOf: (item: T) => string | undefined,
  present: (item: T) => Presented,
) {
  const last = items.at(-1);
  const lastKey = hasMore && last ? keyOf(last) : undefined;
  return {
    object: 'list' as const,
    data: items.map(present),
    hasMore,
    nextCursor: lastKey === undefined ? null : encodeCursor(lastKey, scope),
    url: path,
  };
}
