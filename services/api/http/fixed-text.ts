import { chooseEncoding } from './compression.ts';
import { sendText } from './conditional.ts';
import { keepEncoded, type Encoding } from './encoded.ts';
import type { Context } from './request-state.ts';

/** Answers with a text that stays the same for the whole life of the process, and is compressed once. */
export function fixedText(text: string, type?: string): (context: Context) => Promise<void> {
  const encoded = keepEncoded(async () => Buffer.from(text));
  return async (context) => {
    sendText(context, text, type);
    const encoding = (chooseEncoding(context) ?? 'identity') as Encoding;
    if (context.status === 304 || encoding === 'identity') return;
    context.body = await encoded(encoding);
    context.set('Content-Encoding', encoding);
  };
}
