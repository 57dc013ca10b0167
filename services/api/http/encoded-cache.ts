import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Encoding } from '../middleware/compression.ts';

/**
 * A content in the encoding asked for, made when first asked for and kept from then on: anyone may ask for it,
 * and a compression for each request would be most of what it costs, in time and memory.
 */
export function cacheEncoded(read: () => Promise<Buffer>): (encoding: Encoding) => Promise<Buffer> {
  const kept = new Map<Encoding, Promise<Buffer>>();
  return (encoding) => {
    const encoded = kept.get(encoding) ?? read().then((content) => encode(content, encoding));
    kept.set(encoding, encoded);
    // What could not be read is tried again by the next request.
    encoded.catch(() => kept.delete(encoding));
    return encoded;
  };
}

async function encode(content: Buffer, encoding: Encoding): Promise<Buffer> {
  switch (encoding) {
    case 'br':
      return promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
    case 'gzip':
      return promisify(gzip)(content, { level: 9 });
    case 'identity':
      return content;
  }
}
