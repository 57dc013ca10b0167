import { ApiError } from '../http/api-error.ts';
import { sendText } from '../http/conditional.ts';
import { allowedMethods } from '../http/health.ts';
import type { Step } from '../http/request-state.ts';
import type { OpenApiDocument } from './openapi.ts';
import { documentCacheControl } from './public-operations.ts';

const path = '/openapi.json';

/** `GET /openapi.json`: the document, to anyone. It is the same for the whole life of the process. */
export function serveDocument({ document }: { document: OpenApiDocument }): Step {
  const body = JSON.stringify(document);
  return (context, next) => {
    if (context.path !== path) return next();
    context.state.route = path;
    if (context.method === 'OPTIONS') {
      context.set('Allow', allowedMethods);
      context.status = 204;
      return undefined;
    }
    if (context.method !== 'GET' && context.method !== 'HEAD') {
      throw new ApiError('method_not_allowed', { headers: { Allow: allowedMethods } });
    }
    context.set('Cache-Control', documentCacheControl);
    sendText(context, body);
    return undefined;
  };
}
