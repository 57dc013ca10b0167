import type { Context } from './context.ts';
import type { Encoding } from './encoding.ts';
import { etagOf, isNotModified } from './etag.ts';

/**
 * The compressed forms of each body that never changes while the process runs, such as a page of the documentation. Any
 * client may request these bodies without a key, and to compress one again would be most of the cost of a request.
 */
export const fixedContents = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();

/** Returns a function that answers with a body that never changes, and its ETag. */
export function fixedContent(body: string | Buffer, type: string): (context: Context) => void {
  const content = Buffer.from(body as string);
  const etag = etagOf(content);
  fixedContents.set(content, new Map());
  return (context) => {
    if (isNotModified(context, etag)) return;
    context.type = type;
    context.body = content;
  };
}
