import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { Context } from './context.ts';

/** Content codings that the API can send. */
export type Encoding = 'br' | 'gzip' | 'identity';

const preference: Encoding[] = ['br', 'gzip', 'identity'];

/** The longest `Accept-Encoding` that is parsed; one of 32 KB would take 3 ms. Responses to a longer one are not compressed. */
const acceptedLengthMax = 1_000;

/** Clients send one of a few `Accept-Encoding` headers. */
const negotiated = new LRUCache<string, Encoding>({ max: 100 });

/** The type declarations of `negotiator` lack the second argument. */
type Negotiate = { encoding: (available: string[], options: { preferred: string[] }) => string | undefined };

/** A client that accepts none of these encodings, not even `identity`, gets plain text, as RFC 9110 advises. */
export function chooseEncoding({ req }: Pick<Context, 'req'>): Encoding {
  const accepted = String(req.headers['accept-encoding'] ?? '');
  if (accepted.length > acceptedLengthMax) return 'identity';
  const known = negotiated.get(accepted);
  if (known) return known;
  const negotiator: Negotiate = new Negotiator(req);
  const encoding = (negotiator.encoding(preference, { preferred: preference }) ?? 'identity') as Encoding;
  negotiated.set(accepted, encoding);
  return encoding;
}

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

/**
 * The ETag of a content. It depends on the content only, not on `Data-As-Of` or compression. It is weak, because
 * compressed bytes are not compared.
 */
const etagOf = (content: Buffer): string => `W/"${hash('sha256', content, 'base64url').slice(0, 22)}"`;

/** Answers with an encoded JSON text, or with 304 if the client has it already. */
export function sendJson(context: Context, content: Buffer): void {
  if (isNotModified(context, etagOf(content))) return;
  context.type = 'application/json';
  context.body = content;
}

/**
 * Sets the ETag of the response, and the status 304 if `If-None-Match` contains it. `Cache-Control: no-cache` in the
 * request is ignored: it is meant for caches, and clients send it together with an ETag.
 */
function isNotModified(context: Context, etag: string): boolean {
  context.set('ETag', etag);
  const given = context.get('If-None-Match');
  const etags: string[] = given.match(/"[^"]*"/g) ?? [];
  const matches = given.trim() === '*' || etags.includes(etag.slice('W/'.length));
  if (matches) context.status = 304;
  return matches;
}

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
