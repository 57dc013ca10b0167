import { chooseEncoding } from '../middleware/compression.ts';
import { isHeld, tagOf } from './conditional-get.ts';
import { cacheEncoded } from './encoded-cache.ts';
import type { Context } from './context.ts';

/** Answers with a text that stays the same for the whole life of the process: its tag and encodings are kept. */
export function fixedText(text: string, type = 'application/json'): (context: Context) => Promise<void> {
  const content = Buffer.from(text);
  const tag = tagOf(content);
  const encoded = cacheEncoded(async () => content);
  return async (context) => {
    if (isHeld(context, tag)) return;
    const encoding = chooseEncoding(context);
    context.type = type;
    context.body = await encoded(encoding);
    if (encoding !== 'identity') context.set('Content-Encoding', encoding);
  };
}
