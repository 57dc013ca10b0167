import { z } from 'zod';
import { bufferedLengthMax } from '../http/responses.ts';
import { chunkLength } from './json-chunks.ts';
import { pageSizeMax } from './page-parameters.ts';
import type { Page } from './page-query.ts';

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

/** A page in the list envelope; `url` is the path of its request. */
export const listEnvelope = <T>(url: string, data: T[], nextCursor: string | null = null) => ({
  object: 'list' as const,
  data,
  ...endOf(url, nextCursor),
});

const endOf = (url: string, nextCursor: string | null) => ({ hasMore: nextCursor !== null, nextCursor, url });

/** Writes the items of a page one after another, as pieces of JSON text. */
export type ItemWriter<T> = {
  write: (item: T) => AsyncIterable<string>;
  /** Whether the page has to end before its next item. */
  isFull: () => boolean;
  /** The sort key of an item. */
  keyOf: (item: T) => string | undefined;
};

/**
 * The JSON text of the same envelope, written item by item. The page ends early after the item with which it is full or
 * longer than a body that is held in memory. So by the time that the response begins, its last item is known.
 */
export function listChunks<T>(
  url: string,
  { items, nextKey }: Pick<Page<T>, 'items' | 'nextKey'>,
  cursorOf: (sortKey: string | null) => string | null,
  { write, isFull, keyOf }: ItemWriter<T>,
) {
  let begun = 0;
  const nextCursor = () => {
    const last = items[begun - 1];
    return cursorOf(begun < items.length && last !== undefined ? (keyOf(last) ?? null) : nextKey);
  };
  async function* chunks(): AsyncGenerator<string, void> {
    let length = 0;
    let text = '{"object":"list","data":[';
    for (const item of items) {
      if (begun > 0 && (isFull() || length + text.length >= bufferedLengthMax)) break;
      if (begun > 0) text += ',';
      begun += 1;
      for await (const piece of write(item)) {
        text += piece;
        if (text.length < chunkLength) continue;
        yield text;
        length += text.length;
        text = '';
      }
    }
    yield `${text}],${JSON.stringify(endOf(url, nextCursor())).slice(1)}`;
  }
  return { chunks: chunks(), nextCursor };
}
