import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Encoding } from './encoding.ts';

/**
 * Encodes a content on first request and caches each encoding. Anyone may request it, and compression would be most of
 * the cost of each request, in time and memory.
 */
export function cacheEncoded(read: () => Promise<Buffer>): (encoding: Encoding) => Promise<Buffer> {
  const cache = new Map<Encoding, Promise<Buffer>>();
  return (encoding) => {
    const encoded = cache.get(encoding) ?? read().then((content) => encode(content, encoding));
    cache.set(encoding, encoded);
    // After a failed read, the next request tries again.
    encoded.catch(() => cache.delete(encoding));
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
