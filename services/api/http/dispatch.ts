import { Readable } from 'node:stream';
import Router from '@koa/router';
import { ApiError } from './api-error.ts';
import { allowedMethods } from './health.ts';
import type { Context, RequestState, Step } from './request-state.ts';
import type { Reply, Route } from './route.ts';

/** Matches the path, then the method, and answers with the route's reply. Every route serves GET alone. */
export function dispatch({ routes }: { routes: Route[] }): Step {
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
    rejectBadEncoding(context.path);
    await matchers(context as Parameters<typeof matchers>[0], async () => {
      if (!context.state.route) throw new ApiError('route_not_found');
      await next();
    });
  };
}

/** Percent signs that are not UTF-8 percent-encoding name no resource that could be looked for. */
function rejectBadEncoding(path: string): void {
  try {
    decodeURIComponent(path);
  } catch {
    throw new ApiError('malformed_request', { message: 'The path is not valid percent-encoded UTF-8.' });
  }
}

async function answer(context: Context, route: Route, params: Record<string, string>): Promise<void> {
  const { caller, view } = context.state;
  if (!caller || !view) throw new Error('a route was reached without authentication');
  if (context.method === 'OPTIONS') {
    context.set('Allow', allowedMethods);
    context.status = 204;
    return;
  }
  if (context.method !== route.method && context.method !== 'HEAD') {
    throw new ApiError('method_not_allowed', { headers: { Allow: allowedMethods } });
  }
  const scope = { orgId: caller.orgId, database: view.database, path: context.path };
  await send(context, await route.respond(scope, { params, search: context.querystring }));
}

/**
 * A streamed reply starts once its first piece is there, so that a store that is away is still a 503. A
 * failure after that cuts the connection, as the status is already out; a client that leaves ends the stream.
 */
async function send(context: Context, reply: Reply<unknown>): Promise<void> {
  if ('body' in reply) {
    context.body = reply.body;
    return;
  }
  const first = await reply.chunks.next();
  context.type = 'application/json';
  if (context.method === 'HEAD') {
    await reply.chunks.return();
    context.status = 200;
    return;
  }
  context.body = Readable.from(startingWith(first, reply.chunks), { highWaterMark: 1 });
}

/** The generator with its first result put back; ending this one early ends the generator. */
function startingWith<T>(first: IteratorResult<T, void>, rest: AsyncGenerator<T, void>): AsyncIterable<T> {
  let put: IteratorResult<T, void> | null = first;
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        const result = put ?? (await rest.next());
        put = null;
        return result;
      },
      return: () => rest.return(),
    }),
  };
}
