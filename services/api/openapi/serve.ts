import { sendText } from '../http/conditional.ts';
import { asksForResource } from '../http/methods.ts';
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
    if (!asksForResource(context)) return undefined;
    context.set('Cache-Control', documentCacheControl);
    sendText(context, body);
    return undefined;
  };
}
