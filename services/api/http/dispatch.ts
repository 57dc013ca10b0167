import { Readable } from 'node:stream';
import Router from '@koa/router';
import { ApiError } from './api-error.ts';
import { sendText } from './conditional-get.ts';
import { handleMethod, methodNotAllowed } from './methods.ts';
import type { Context, RequestState, Middleware } from './context.ts';
import type { StoreReader } from '../store/reader.ts';
import type { Reply, Route } from './route.ts';

/** Matches the path, then the method, and answers with the route's reply. Every route serves GET alone. */
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
      // Over HTTP/2 a method may be any word; the router knows those of HTTP/1.1 alone.
      if (!context.state.route && router.match(context.path, 'GET').route) throw methodNotAllowed();
      if (!context.state.route && !isPercentEncoded(context.path))
        throw new ApiError('malformed_request', badPath);
      if (!context.state.route) throw new ApiError('route_not_found');
      await next();
    });
  };
}

const badPath = { message: 'The path is not valid percent-encoded UTF-8.' };

/** Percent signs that are not UTF-8 percent-encoding name no resource that could be looked for. */
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
  if (!caller || !store) throw new Error('a route was reached without admission');
  if (!handleMethod(context)) return;
  // The path has matched, so the fault lies in its parameter.
  if (!isPercentEncoded(context.path)) throw new ApiError('invalid_path_parameter');
  const scope = { orgId: caller.orgId, store, path: context.path };
  await send(context, store, await route.respond(scope, { params, search: context.querystring }));
}

/** Characters up to which a reply in pieces is put together, for its length and its tag to be known. */
const wholeLengthMax = 262_144;

/**
 * A reply in pieces that is longer than a bound is streamed, without a tag. It starts once that much of it is
 * there, so that a store that is away is still a 503. A failure after that cuts the connection, as the status
 * is already out; a client that leaves ends the stream.
 */
async function send(context: Context, store: StoreReader, reply: Reply<unknown>): Promise<void> {
  const sendWhole = (text: string) => {
    store.holdOnly(text.length);
    sendText(context, text);
  };
  if ('body' in reply) {
    sendWhole(JSON.stringify(reply.body));
    return;
  }
  let text = '';
  while (text.length <= wholeLengthMax) {
    const { value, done } = await reply.chunks.next();
    if (done) {
      sendWhole(text);
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
  const stream = Readable.from(startingWith(text, reply.chunks), { highWaterMark: 1 });
  // Compression pipes it on, and a pipe passes no failure on.
  stream.once('error', (error) => {
    context.state.failure = error;
    context.res.destroy();
  });
  context.body = stream;
}

/** The generator with what was read of it put back; ending this one early ends the generator. */
function startingWith(text: string, rest: AsyncGenerator<string, void>): AsyncIterable<string> {
  let put: string | null = text;
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        if (put === null) return rest.next();
        const value = put;
        put = null;
        return { value, done: false };
      },
      return: () => rest.return(),
    }),
  };
}
