import { fixedText } from '../http/responses.ts';
import { handleMethod } from '../http/methods.ts';
import type { Middleware } from '../http/context.ts';
import type { OpenApiDocument } from '../openapi/types.ts';
import { anyOrigin, specCacheControl } from '../openapi/public-operations.ts';

const path = '/openapi.json';

/** `GET /openapi.json`: serves the OpenAPI document to anyone. It does not change while the process runs. */
export function serveSpec({ spec }: { spec: OpenApiDocument }): Middleware {
  const send = fixedText(JSON.stringify(spec));
  return async (context, next) => {
    if (context.path !== path) {
      await next();
      return;
    }
    context.state.route = path;
    // Tools that run in a browser, on a page of another host, read the document, too.
    context.set(anyOrigin);
    if (!handleMethod(context)) return;
    context.set('Cache-Control', specCacheControl);
    await send(context);
  };
}
