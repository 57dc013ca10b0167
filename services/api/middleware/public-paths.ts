import { securityPolicy } from '../../../shared/pages/security-policy.ts';
import { readAssets } from '../docs/assets.ts';
import { createSite } from '../docs/layout.ts';
import { createPages } from '../docs/pages.ts';
import type { Context, Middleware } from '../http/context.ts';
import { fixedContent } from '../http/fixed-content.ts';
import { handleMethod } from '../http/methods.ts';
import { isPublic } from '../http/public.ts';
import type { PageSettings } from '../openapi/info.ts';
import { anyOrigin, specCacheControl } from '../openapi/public-operations.ts';
import type { OpenApiDocument } from '../openapi/spec.ts';

/** `img-src data:` allows the icons in the stylesheets, and `form-action` the search form. */
const policy = securityPolicy({ 'img-src': "'self' data:", 'form-action': "'self'" });
const docsHeaders = { 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' };

const specHeaders = { 'Cache-Control': specCacheControl };
const cachedHeaders = { ...docsHeaders, 'Cache-Control': 'public, max-age=300' };

type PublicResource = {
  /** Its path, or the pattern of its paths, as in `/docs/:missing`. */
  path: string;
  headers: Record<string, string>;
  /** Sets status, type and body of the response. */
  send: (context: Context) => void;
};

type PublicDeps = PageSettings & {
  /** The OpenAPI document. */
  spec: OpenApiDocument;
};

/** The route of a path, for logs and metrics. All pages of a kind share a route, so a metric has few labels. */
const routeOf = (path: string): string =>
  path.replace(/^(\/docs\/(?:assets|errors|guides))\/.+$/, '$1/:name');

/** Serves `/health`, the OpenAPI document, the documentation and its assets to anyone. */
export function servePublic({ spec, baseUrl, keyPrefix, clientPackage }: PublicDeps): Middleware {
  const site = createSite({ baseUrl, keyPrefix, clientPackage });
  const { htmlByPath, textByPath, resultsPage, notFound } = createPages(site, spec);
  const queryOf = (context: Context) => String([context.query.q ?? ''].flat()[0]);
  const sendHtml = (context: Context, body: string, status = 200) =>
    Object.assign(context, { status, type: 'text/html', body });
  const pages = [...htmlByPath].map(([path, page]): PublicResource => {
    const links = [
      `<${site.href(path)}>; rel="canonical"`,
      `<${site.markdownHref(path)}>; rel="alternate"; type="text/markdown"`,
      `<${site.href('/openapi.json')}>; rel="service-desc"`,
    ].join(', ');
    return { path, headers: { ...cachedHeaders, Link: links }, send: fixedContent(page, 'text/html') };
  });
  // Browsers show `text/plain`, such as `/llms.txt`, but offer `text/markdown` for download.
  const typeOf = (path: string) => (path.endsWith('.md') ? 'text/markdown' : 'text/plain');
  const markdown = [...textByPath].map(([path, text]): PublicResource => {
    return { path, headers: cachedHeaders, send: fixedContent(text, typeOf(path)) };
  });
  const resources: PublicResource[] = [
    // Shows that the process answers. Only `/readyz` on the admin port checks MongoDB.
    {
      path: '/health',
      headers: {},
      send: (context) => {
        context.body = { status: 'ok' };
      },
    },
    {
      path: '/openapi.json',
      headers: specHeaders,
      send: fixedContent(JSON.stringify(spec), 'application/json'),
    },
    {
      path: '/docs/search',
      headers: docsHeaders,
      send: (context) => sendHtml(context, resultsPage(queryOf(context))),
    },
    ...pages,
    ...markdown,
    ...readAssets().map((asset) => ({ ...asset, headers: cachedHeaders })),
  ];
  const byPath = new Map(resources.map((resource) => [resource.path, resource]));
  const notFoundPage: PublicResource = {
    path: '/docs/:missing',
    headers: docsHeaders,
    send: (context) => sendHtml(context, notFound, 404),
  };
  return (context, next) => {
    if (!isPublic(context.path)) return next();
    // `/docs/` and `/docs` serve the same page; links have no base, so they work on both.
    const resource = byPath.get(context.path.replace(/\/$/, '')) ?? notFoundPage;
    context.state.route = routeOf(resource.path);
    // Tools on the pages of other hosts also read the document.
    if (resource.path === '/openapi.json') context.set(anyOrigin);
    if (!handleMethod(context)) return undefined;
    context.set(resource.headers);
    resource.send(context);
    return undefined;
  };
}
