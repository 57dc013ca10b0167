import { z } from 'zod';
import { pageSizeMax } from './page-parameters.ts';

/** The schema of a list; `id` names its component in the OpenAPI document, such as `TicketList`. */
export const listSchema = <T extends z.ZodType>(id: string, item: T) =>
  z
    .strictObject({
      object: z.literal('list').describe('Always `list`.'),
      data: z
        .array(item)
        .max(pageSizeMax)
        .describe(
          'The items of the page, in the order of the list. A page can have fewer items than `limit`, or none, ' +
            'even if more pages follow.',
        ),
      hasMore: z
        .boolean()
        .describe('Whether more pages follow. A short or empty page is not necessarily the last.'),
      nextCursor: z
        .string()
        .nullable()
        .describe('The opaque cursor to send as `startingAfter` for the next page; null on the last page.'),
      url: z.string().describe('The path of the request.'),
    })
    .meta({ id, description: 'One page of a list.' });

/** The last members of the envelope. */
type ListEnd = { hasMore: boolean; nextCursor: string | null; url: string };

/** A page in the list envelope. */
export type ListEnvelope<T> = { object: 'list'; data: T[] } & ListEnd;

/** Puts the items of a page into the list envelope. `url` is the path of the request. */
export const listEnvelope = <T>(
  url: string,
  data: T[],
  nextCursor: string | null = null,
): ListEnvelope<T> => ({ object: 'list', data, ...listEnd(url, nextCursor) });

export const listEnd = (url: string, nextCursor: string | null): ListEnd => ({
  hasMore: nextCursor !== null,
  nextCursor,
  url,
});
