import type { Context } from './context.ts';
import type { Encoding } from './encoding.ts';
import { etagOf, isNotModified } from './etag.ts';

/**
 * The encodings of each content that never changes while the process runs. Any client may request it without a key:
 * without them, compression would be most of the cost of each request, in time and memory.
 */
export const fixedContents = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();

/** Answers with a content that never changes, and its ETag. */
export function fixedContent(given: string | Buffer, type: string): (context: Context) => void {
  const content = Buffer.from(given as string);
  const etag = etagOf(content);
  fixedContents.set(content, new Map());
  return (context) => {
    if (isNotModified(context, etag)) return;
    context.type = type;
    context.body = content;
  };
}
