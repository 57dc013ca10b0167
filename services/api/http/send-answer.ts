import { Readable } from 'node:stream';
import type { StoreReader } from '../store/reader.ts';
import type { Context } from './context.ts';
import { etagOf, isNotModified } from './etag.ts';
import { interruptResponse } from './interrupt.ts';
import type { Answer } from './route.ts';

/** A body in pieces is sent as a whole, with a length and an ETag, unless it has more characters than this. */
export const bufferedLengthMax = 262_144;

/**
 * Sends an answer. A longer body in pieces is streamed, without an ETag. The stream begins only after
 * `bufferedLengthMax` characters have been read, so the client usually still gets 503 if MongoDB is unavailable. A
 * later failure resets the connection, because the status has been sent. If the client leaves, the generator ends.
 */
export async function sendAnswer(
  context: Context,
  store: StoreReader,
  answer: Answer<unknown>,
  baseUrl: string | undefined,
): Promise<void> {
  const linkAndSetType = () => {
    linkNext(context, answer, baseUrl);
    context.type = 'application/json';
  };
  const sendWhole = (text: string) => {
    const bytes = Buffer.byteLength(text);
    context.state.responseBytes = bytes;
    store.hold(bytes);
    if (isNotModified(context, etagOf(text))) return;
    linkAndSetType();
    // Node sends the headers and a string in one write, but a buffer in a second write.
    context.body = text;
  };
  if ('body' in answer) {
    sendWhole(JSON.stringify(answer.body));
    return;
  }
  let buffered = '';
  while (buffered.length <= bufferedLengthMax) {
    const { value, done } = await answer.chunks.next();
    if (done) {
      sendWhole(buffered);
      return;
    }
    buffered += value;
  }
  linkAndSetType();
  streamBody(
    context,
    Readable.from(countBytesOf(context, store, buffered, answer.chunks), { highWaterMark: 1 }),
  );
}

/**
 * Links a list to its next page: the same request with another cursor. Does not use `Host`, which the client controls.
 */
function linkNext(context: Context, { readNextCursor }: Answer<unknown>, baseUrl = ''): void {
  const cursor = readNextCursor?.();
  if (!cursor) return;
  const query = new URLSearchParams(context.querystring);
  query.set('startingAfter', cursor);
  // Node accepts these characters in a path, but in `Link` they would end the URL.
  const path = context.path.replaceAll(/[<>"]/g, encodeURIComponent);
  context.set('Link', `<${baseUrl}${path}?${query.toString()}>; rel="next"`);
}

/** Sends a stream. A failure resets the connection, because the status has been sent. */
export function streamBody(context: Context, stream: Readable): void {
  stream.once('error', (error) => {
    context.state.failure = error;
    interruptResponse(context.res);
  });
  context.body = stream;
}

/**
 * Yields `first`, then the pieces of `rest`. A piece counts as memory until the client can take the next one. The end
 * of the result ends `rest`. A generator would not do: it would keep the last piece in memory, uncounted, while it
 * awaits the next piece.
 */
function countBytesOf(
  context: Context,
  store: StoreReader,
  first: string,
  rest: AsyncGenerator<string, void>,
): AsyncIterable<string> {
  let isFirst = true;
  let release: () => void = () => undefined;
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
