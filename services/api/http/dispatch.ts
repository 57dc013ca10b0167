import Router from '@koa/router';
import { ApiError } from './api-error.ts';
import { sendReply } from './responses.ts';
import type { DocsLocation } from './error-envelope.ts';
import { handleMethod } from './methods.ts';
import type { Context, RequestState, Middleware } from './context.ts';
import type { Route } from './route.ts';

/** Matches the path, then the method, and sends the route's reply. Every route serves GET (and HEAD) only. */
export function dispatch({ routes, docs }: { routes: Route[]; docs: DocsLocation }): Middleware {
  const router = new Router<RequestState>({ strict: true, sensitive: true });
  for (const route of routes) {
    router.all(route.path, async (context) => {
      context.state.route = route.path;
      context.state.pathId = context.params.id;
      await answer(context, route, docs);
    });
  }
  const matchers = router.routes();
  return async (context, next) => {
    await matchers(context as Parameters<typeof matchers>[0], async () => {
      if (!context.state.route && !isPercentEncoded(context.path))
        throw new ApiError('malformed_request', { message: 'The path is not valid percent-encoded UTF-8.' });
      if (!context.state.route) throw new ApiError('route_not_found');
      await next();
    });
  };
}

/** A path with invalid percent-encoding cannot name a resource. */
function isPercentEncoded(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

async function answer(context: Context, route: Route, { baseUrl }: DocsLocation): Promise<void> {
  const { caller, store } = context.state;
  if (!caller?.orgId || !store) throw new Error('a route was reached without an organization');
  if (!handleMethod(context)) return;
  // The path has matched, so the invalid part is its parameter.
  if (!isPercentEncoded(context.path)) throw new ApiError('invalid_path_parameter');
  const scope = { orgId: caller.orgId, store, path: context.path };
  const { params } = context as Context & { params: Record<string, string> };
  const reply = await route.respond(scope, { params, search: context.querystring });
  await sendReply(context, store, reply, baseUrl);
}
