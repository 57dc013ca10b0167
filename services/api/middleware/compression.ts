import { Stream, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  gzipSync,
} from 'node:zlib';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { Context, Middleware } from '../http/context.ts';

export type Encoding = 'br' | 'gzip' | 'identity';

/** Below this many bytes a response fits a packet or two as it is. */
const thresholdBytes = 1_024;
/** Up to this many bytes a body is compressed at once, in some 100 µs; the thread pool costs as much. */
const immediateBytes = 32_768;
const preference: Encoding[] = ['br', 'gzip', 'identity'];

/**
 * The cheapest levels: brotli at 4 is a tenth smaller for a list, and takes four times as long. Brotli's window
 * is kept at 256 KB: its default of 4 MB would be held for every long conversation under way.
 */
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 18 } };
const gzipped = { level: 1 };

const encoders = {
  br: {
    now: (body: Buffer) => brotliCompressSync(body, brotli),
    later: (body: Buffer): Promise<Buffer> => promisify(brotliCompress)(body, brotli),
    stream: () => createBrotliCompress(brotli),
  },
  gzip: {
    now: (body: Buffer) => gzipSync(body, gzipped),
    later: (body: Buffer): Promise<Buffer> => promisify(gzip)(body, gzipped),
    stream: () => createGzip(gzipped),
  },
};

/**
 * Compresses with what the client likes best, brotli where it has no preference. Errors are short, and stay as
 * they are.
 */
export const compression: Middleware = async (context, next) => {
  context.vary('Accept-Encoding');
  await next();
  const body = context.body as Buffer | string | Readable | null | undefined;
  const length = context.response.length ?? Infinity;
  if (!body || length < thresholdBytes || context.status >= 400) return;
  if (context.response.get('Content-Encoding')) return;
  const encoding = chooseEncoding(context);
  if (encoding === 'identity') return;
  const encoder = encoders[encoding];
  context.set('Content-Encoding', encoding);
  if (!(body instanceof Stream)) {
    const content = Buffer.isBuffer(body) ? body : Buffer.from(body);
    context.body = content.length <= immediateBytes ? encoder.now(content) : await encoder.later(content);
  } else if (context.method !== 'HEAD') {
    context.body = body.pipe(encoder.stream());
  }
};

/** Clients send one of a few headers; a longer one is not remembered. */
const chosen = new LRUCache<string, Encoding>({ max: 100 });
const rememberedLengthMax = 100;

/** What its types lack is the second argument. */
type Negotiate = { encoding: (available: string[], options: { preferred: string[] }) => string | undefined };

/** A client that accepts none of these, not even the plain text, gets the plain text, as RFC 9110 advises. */
export function chooseEncoding({ req }: Context): Encoding {
  const accepted = String(req.headers['accept-encoding'] ?? '');
  const known = chosen.get(accepted);
  if (known) return known;
  const negotiator: Negotiate = new Negotiator(req);
  const encoding = (negotiator.encoding(preference, { preferred: preference }) ?? 'identity') as Encoding;
  if (accepted.length <= rememberedLengthMax) chosen.set(accepted, encoding);
  return encoding;
}
