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
import type { Middleware } from '../http/context.ts';
import { chooseEncoding } from '../http/responses.ts';

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
  if (context.response.get('Content-Encoding')) return;
  const encoding = chooseEncoding(context);
  if (encoding === 'identity') return;
  const encoder = encoders[encoding];
  context.set('Content-Encoding', encoding);
  if (!(body instanceof Stream)) {
    const content = Buffer.isBuffer(body) ? body : Buffer.from(body);
    context.body =
      content.length <= synchronousBytesMax ? encoder.sync(content) : await encoder.async(content);
  } else if (context.method !== 'HEAD') {
    context.body = body.pipe(encoder.stream());
  }
};
