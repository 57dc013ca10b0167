import { pipeline, Stream, type Readable } from 'node:stream';
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
import type { Middleware } from '../http/context.ts';
import { chooseEncoding } from '../http/encoding.ts';
import { fixedContents } from '../http/fixed-content.ts';
import { streamBody } from '../http/send-answer.ts';

/** A response below this many bytes fits in a packet or two uncompressed. */
const thresholdBytes = 1_024;
/** Bodies up to this many bytes are compressed synchronously, in about 100 µs; the thread pool costs as much. */
const synchronousBytesMax = 32_768;

/**
 * The cheapest levels: brotli level 4 makes a list 10% smaller but takes four times as long. Brotli's window is
 * 256 KB, because each long conversation in progress would hold the default window of 4 MB.
 */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 18 } };
const gzipOptions = { level: 1 };

const encoders = {
  br: {
    sync: (body: Buffer) => brotliCompressSync(body, brotliOptions),
    async: (body: Buffer): Promise<Buffer> => promisify(brotliCompress)(body, brotliOptions),
    stream: () => createBrotliCompress(brotliOptions),
  },
  gzip: {
    sync: (body: Buffer) => gzipSync(body, gzipOptions),
    async: (body: Buffer): Promise<Buffer> => promisify(gzip)(body, gzipOptions),
    stream: () => createGzip(gzipOptions),
  },
};

/** Compresses a content on its first request. */
function fixedEncoding(content: Buffer, encoding: keyof typeof encoders): Promise<Buffer> | undefined {
  const known = fixedContents.get(content);
  const encoded = known && (known.get(encoding) ?? encoders[encoding].async(content));
  if (!encoded) return undefined;
  known.set(encoding, encoded);
  // If zlib has no memory, the next request tries again.
  encoded.catch(() => known.delete(encoding));
  return encoded;
}

/**
 * Compresses the body with the encoding that the client prefers, brotli if it has no preference. Errors are short
 * and stay uncompressed.
 */
export const compression: Middleware = async (context, next) => {
  context.vary('Accept-Encoding');
  await next();
  const body = context.body as Buffer | string | Readable | null | undefined;
  const length = context.response.length ?? Infinity;
  if (!body || length < thresholdBytes || context.status >= 400) return;
  const encoding = chooseEncoding(context);
  if (encoding === 'identity') return;
  const encoder = encoders[encoding];
  try {
    if (!(body instanceof Stream)) {
      const content = Buffer.isBuffer(body) ? body : Buffer.from(body);
      const isSmall = content.length <= synchronousBytesMax;
      const fixed = fixedEncoding(content, encoding);
      context.body = fixed ? await fixed : isSmall ? encoder.sync(content) : await encoder.async(content);
    } else if (context.method !== 'HEAD') {
      // An error of one stream ends the other.
      const encoded = pipeline(body, encoder.stream(), () => undefined);
      streamBody(context, encoded);
    }
    context.set('Content-Encoding', encoding);
  } catch {
    // zlib has no memory: the body stays as it is.
  }
};
