import Router, { type RouterContext } from '@koa/router';
import { ApiError } from './api-error.ts';
import type { Middleware, RequestState } from './context.ts';
import type { BaseUrl } from './error-envelope.ts';
import { handleMethod } from './methods.ts';
import type { Route } from './route.ts';
import { sendAnswer } from './send-answer.ts';

/** Matches the path, then the method, and sends the route's answer. Every route serves GET (and HEAD) only. */
export function dispatch({ routes, baseUrl }: { routes: Route[]; baseUrl: BaseUrl }): Middleware {
  const router = new Router<RequestState>({ strict: true, sensitive: true });
  for (const route of routes) router.all(route.path, (context) => respond(context, route, baseUrl));
  const match = router.routes();
  return async (context) => {
    await match(context as RouterContext<RequestState>, async () => {
      throw noRoute(context.path);
    });
  };
}

/** The error of a path that no route matches. */
const noRoute = (path: string): ApiError =>
  isPercentEncoded(path)
    ? new ApiError('route_not_found')
    : new ApiError('malformed_request', {
        message: 'The path is not valid percent-encoded UTF-8; let a library encode it.',
      });

/** Whether the percent-encoding of a path is valid. */
function isPercentEncoded(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

async function respond(context: RouterContext<RequestState>, route: Route, baseUrl: BaseUrl): Promise<void> {
  const { state, params, path } = context;
  state.route = route.path;
  state.pathId = params.id;
  const { caller, store } = state;
  if (!caller?.orgId || !store) throw new Error('a route was reached without an organization');
  if (!handleMethod(context)) return;
  // The rest of the path has matched, so the invalid part is its parameter.
  if (!isPercentEncoded(path)) throw new ApiError('invalid_path_parameter');
  const scope = { orgId: caller.orgId, store, path };
  const answer = await route.respond(scope, { params, search: context.querystring });
  await sendAnswer(context, store, answer, baseUrl);
}
