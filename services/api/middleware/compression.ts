import { type Duplex, pipeline, type Readable, Stream } from 'node:stream';
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
import { chooseEncoding, type Encoding } from '../http/encoding.ts';
import { fixedContents } from '../http/fixed-content.ts';
import { streamBody } from '../http/send-answer.ts';

/** A shorter response stays uncompressed, because it fits in a packet or two. */
const thresholdBytes = 1_024;
/**
 * A larger body is compressed in the thread pool, because it would block the other requests of this thread. A smaller
 * body takes about 100 µs, and a task of the pool would cost as much.
 */
const synchronousBytesMax = 32_768;

/**
 * The cheapest levels, because level 4 of brotli makes a list only 10% smaller, and takes four times as long. Brotli's
 * window is 256 KB (2^18 bytes). With the default, each long conversation in progress would hold a window of 4 MB.
 */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 18 } };
const gzipOptions = { level: 1 };

type Compression = Exclude<Encoding, 'identity'>;

export type Encoder = {
  /** Compresses in this thread. */
  sync: (body: Buffer) => Buffer;
  /** Compresses in the thread pool. */
  async: (body: Buffer) => Promise<Buffer>;
  stream: () => Duplex;
};

export type Encoders = Record<Compression, Encoder>;

export const zlibEncoders: Encoders = {
  br: {
    sync: (body) => brotliCompressSync(body, brotliOptions),
    async: (body) => promisify(brotliCompress)(body, brotliOptions),
    stream: () => createBrotliCompress(brotliOptions),
  },
  gzip: {
    sync: (body) => gzipSync(body, gzipOptions),
    async: (body) => promisify(gzip)(body, gzipOptions),
    stream: () => createGzip(gzipOptions),
  },
};

/** Compresses a body that is not a stream. */
async function encode(body: Buffer | string, encoding: Compression, encoder: Encoder): Promise<Buffer> {
  const content = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const cachedResult = encodeOnce(content, encoding, encoder);
  if (cachedResult) return await cachedResult;
  const { sync, async } = encoder;
  return content.length <= synchronousBytesMax ? sync(content) : await async(content);
}

/** Compresses a body of `fixedContents` on its first request, and caches the result. Undefined for any other body. */
function encodeOnce(content: Buffer, encoding: Compression, { async }: Encoder): Promise<Buffer> | undefined {
  const encodings = fixedContents.get(content);
  if (!encodings) return undefined;
  const encoded = encodings.get(encoding) ?? async(content);
  encodings.set(encoding, encoded);
  // Without this line, a moment without memory would fail every later request for this body.
  encoded.catch(() => encodings.delete(encoding));
  return encoded;
}

/**
 * Compresses the body with the encoding that the client prefers, or with brotli if the client has no preference. Errors
 * are short and stay uncompressed.
 */
export function compression(encoders: Encoders): Middleware {
  return async (context, next) => {
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
        context.body = await encode(body, encoding, encoder);
      } else if (context.method !== 'HEAD') {
        // An error of one stream ends the other.
        const encoded = pipeline(body, encoder.stream(), () => undefined);
        streamBody(context, encoded);
      }
      context.set('Content-Encoding', encoding);
    } catch {
      // zlib has no memory, so the client gets the body uncompressed.
    }
  };
}
