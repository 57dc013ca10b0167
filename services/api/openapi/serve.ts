import { fixedText } from '../http/fixed-text.ts';
import { asksForResource } from '../http/methods.ts';
import type { Step } from '../http/request-state.ts';
import type { OpenApiDocument } from './openapi.ts';
import { documentCacheControl } from './public-operations.ts';

const path = '/openapi.json';

/** `GET /openapi.json`: the document, to anyone. It is the same for the whole life of the process. */
export function serveDocument({ document }: { document: OpenApiDocument }): Step {
  const send = fixedText(JSON.stringify(document));
  return async (context, next) => {
    if (context.path !== path) {
      await next();
      return;
    }
    context.state.route = path;
    if (!asksForResource(context)) return;
    context.set('Cache-Control', documentCacheControl);
    await send(context);
  };
}
