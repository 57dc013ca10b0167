import { Readable } from 'node:stream';
import Router from '@koa/router';
import { ApiError } from './api-error.ts';
import { sendJson } from './responses.ts';
import { handleMethod, methodNotAllowed } from './methods.ts';
import type { Context, RequestState, Middleware } from './context.ts';
import type { StoreReader } from '../store/reader.ts';
import type { Reply, Route } from './route.ts';

/** Matches the path, then the method, and sends the route's reply. Every route serves GET (and HEAD) only. */
export function dispatch({ routes }: { routes: Route[] }): Middleware {
  const router = new Router<RequestState>({ strict: true, sensitive: true });
  for (const route of routes) {
    router.all(route.path, async (context) => {
      context.state.route = route.path;
      context.state.pathId = context.params.id;
      await answer(context, route, context.params);
    });
  }
  const matchers = router.routes();
  return async (context, next) => {
    await matchers(context as Parameters<typeof matchers>[0], async () => {
      // Over HTTP/2 a method may be any word; the router matches only those of HTTP/1.1.
      if (!context.state.route && router.match(context.path, 'GET').route) throw methodNotAllowed();
      if (!context.state.route && !isPercentEncoded(context.path))
        throw new ApiError('malformed_request', badPath);
      if (!context.state.route) throw new ApiError('route_not_found');
      await next();
    });
  };
}

const badPath = { message: 'The path is not valid percent-encoded UTF-8.' };

/** A path with invalid percent-encoding cannot name a resource. */
function isPercentEncoded(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

async function answer(context: Context, route: Route, params: Record<string, string>): Promise<void> {
  const { caller, store } = context.state;
  if (!caller || !store) throw new Error('a route was reached without authentication');
  if (!handleMethod(context)) return;
  // The path has matched, so the invalid part is its parameter.
  if (!isPercentEncoded(context.path)) throw new ApiError('invalid_path_parameter');
  const scope = { orgId: caller.orgId, store, path: context.path };
  await send(context, store, await route.respond(scope, { params, search: context.querystring }));
}

/** Up to this many characters a chunked reply is sent as one body, with a length and an ETag. */
const bufferedLengthMax = 262_144;

/**
 * Sends a reply. A chunked reply longer than the limit is streamed without an ETag. Streaming starts only after that
 * much has been read, so an unavailable store is usually still a 503. A later failure closes the connection, because the
 * status has been sent; when the client leaves, the generator ends.
 */
async function send(context: Context, store: StoreReader, reply: Reply<unknown>): Promise<void> {
  const sendBuffered = (text: string) => {
    const content = Buffer.from(text);
    context.state.responseBytes = content.length;
    store.holdOnly(content.length);
    sendJson(context, content);
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
  context.type = 'application/json';
  if (context.method === 'HEAD') {
    await reply.chunks.return();
    context.body = Readable.from([]);
    return;
  }
  const stream = Readable.from(countPieces(context, store, text, reply.chunks), { highWaterMark: 1 });
  // Compression pipes this stream, and a pipe does not forward errors.
  stream.once('error', (error) => {
    context.state.failure = error;
    context.res.destroy();
  });
  context.body = stream;
}

/**
 * `first`, then the pieces of `rest`. Each is counted until the client has room for the next. Ending the result early
 * ends `rest`.
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
