import { fixedText } from '../http/fixed-text.ts';
import { handleMethod } from '../http/methods.ts';
import type { Middleware } from '../http/context.ts';
import type { OpenApiDocument } from '../openapi/types.ts';
import { documentCacheControl } from '../openapi/public-operations.ts';

const path = '/openapi.json';

/** `GET /openapi.json`: the document, to anyone. It is the same for the whole life of the process. */
export function serveSpec({ document }: { document: OpenApiDocument }): Middleware {
  const send = fixedText(JSON.stringify(document));
  return async (context, next) => {
    if (context.path !== path) {
      await next();
      return;
    }
    context.state.route = path;
    if (!handleMethod(context)) return;
    context.set('Cache-Control', documentCacheControl);
    await send(context);
  };
}
