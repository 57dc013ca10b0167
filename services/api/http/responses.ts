import { Readable } from 'node:stream';
import { hash } from 'node:crypto';
import Negotiator from 'negotiator';
import type { StoreReader } from '../store/reader.ts';
import type { Context } from './context.ts';
import { interruptResponse } from './interrupt.ts';
import type { Reply } from './route.ts';

/** Content codings that the API can send. */
type Encoding = 'br' | 'gzip' | 'identity';

const preference: Encoding[] = ['br', 'gzip', 'identity'];

/** The longest `Accept-Encoding` that is parsed; one of 32 KB would take 3 ms. Responses to a longer one are not compressed. */
const acceptedLengthMax = 1_000;

/** The type declarations of `negotiator` lack the second argument. */
type Negotiate = { encoding: (available: string[], options: { preferred: string[] }) => string | undefined };

/** A client that accepts none of these encodings, not even `identity`, gets plain text, as RFC 9110 advises. */
export function chooseEncoding({ req }: Pick<Context, 'req'>): Encoding {
  const accepted = String(req.headers['accept-encoding'] ?? '');
  if (accepted.length > acceptedLengthMax) return 'identity';
  const negotiator: Negotiate = new Negotiator(req);
  return (negotiator.encoding(preference, { preferred: preference }) ?? 'identity') as Encoding;
}

/**
 * The encodings of each content that never changes while the process runs. Any client may request it without a key, and
 * without them compression would be most of the cost of each request, in time and memory.
 */
export const fixedContents = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();

/**
 * The ETag of a content. It depends on the content only, not on `Data-As-Of` or compression. It is weak, because
 * compressed bytes are not compared.
 */
const etagOf = (content: Buffer | string): string =>
  `W/"${hash('sha256', content, 'base64url').slice(0, 22)}"`;

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

/** Answers with a content that never changes, and its ETag. */
export function fixedContent(given: string | Buffer, type: string): (context: Context) => void {
  const content = Buffer.from(given as string);
  const etag = etagOf(content);
  fixedContents.set(content, new Map());
  return (context) => {
    if (isNotModified(context, etag)) return;
    context.type = type;
    context.body = content;
  };
}

/** Links a list to its next page: the same request with another cursor. The header `Host` is not used, as in errors. */
function linkNext(context: Context, { nextCursor }: Reply<unknown>, baseUrl = ''): void {
  const cursor = nextCursor?.();
  if (!cursor) return;
  const query = new URLSearchParams(context.querystring);
  query.set('startingAfter', cursor);
  context.set('Link', `<${baseUrl}${context.path}?${query.toString()}>; rel="next"`);
}

/** Up to this many characters a chunked reply is sent as one body, with a length and an ETag. */
export const bufferedLengthMax = 262_144;

/**
 * Sends a reply. A chunked reply longer than the limit is streamed without an ETag. Streaming starts only after that
 * much has been read, so the client usually still gets a 503 if MongoDB is unavailable. A later failure resets the
 * connection, because the status has been sent; when the client leaves, the generator ends.
 */
export async function sendReply(
  context: Context,
  store: StoreReader,
  reply: Reply<unknown>,
  baseUrl: string | undefined,
): Promise<void> {
  const sendBuffered = (text: string) => {
    const bytes = Buffer.byteLength(text);
    context.state.responseBytes = bytes;
    store.hold(bytes);
    if (isNotModified(context, etagOf(text))) return;
    linkNext(context, reply, baseUrl);
    context.type = 'application/json';
    // Node sends a string and the headers in one write, a buffer in another one.
    context.body = text;
  };
  if ('body' in reply) {
    sendBuffered(JSON.stringify(reply.body));
    return;
  }
  let text = '';
  while (text.length <= bufferedLengthMax) {
    const { value, done } = await reply.chunks.next();
    if (done) {
      sendBuffered(text);
      return;
    }
    text += value;
  }
  linkNext(context, reply, baseUrl);
  context.type = 'application/json';
  streamBody(context, Readable.from(countPieces(context, store, text, reply.chunks), { highWaterMark: 1 }));
}

/** Sends a stream. If it fails, the connection is reset, because the status has been sent. */
export function streamBody(context: Context, stream: Readable): void {
  stream.once('error', (error) => {
    context.state.failure = error;
    interruptResponse(context.res);
  });
  context.body = stream;
}

/**
 * `first`, then the pieces of `rest`. Each is counted until the client has room for the next. Ending the result early
 * ends `rest`. A generator would keep the piece before in memory, uncounted, while it waits for the next.
 */
function countPieces(
  context: Context,
  store: StoreReader,
  first: string,
  rest: AsyncGenerator<string, void>,
): AsyncIterable<string> {
  let isFirst = true;
  let release = () => undefined as void;
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        release();
        const result = isFirst ? { value: first, done: false } : await rest.next();
        isFirst = false;
        const bytes = Buffer.byteLength(result.value ?? '');
        release = store.hold(bytes);
        context.state.responseBytes += bytes;
        return result;
      },
      return: () => rest.return(),
    }),
  };
}
