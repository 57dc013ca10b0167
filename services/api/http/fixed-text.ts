import { chooseEncoding } from './encoding.ts';
import { etagOf, isNotModified } from './conditional-get.ts';
import { cacheEncoded } from './encoded-cache.ts';
import type { Context } from './context.ts';

/** Answers with a text that never changes while the process runs; its ETag and encodings are cached. */
export function fixedText(text: string, type = 'application/json'): (context: Context) => Promise<void> {
  const content = Buffer.from(text);
  const etag = etagOf(content);
  const encoded = cacheEncoded(async () => content);
  return async (context) => {
    if (isNotModified(context, etag)) return;
    const encoding = chooseEncoding(context);
    context.type = type;
    context.body = await encoded(encoding);
    if (encoding !== 'identity') context.set('Content-Encoding', encoding);
  };
}
