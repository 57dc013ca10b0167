import { securityPolicy } from '../../../shared/pages/security-policy.ts';
import { createAssets } from '../docs/assets.ts';
import { createSite } from '../docs/layout.ts';
import { createPages } from '../docs/pages.ts';
import type { Context, Middleware } from '../http/context.ts';
import { handleMethod } from '../http/methods.ts';
import { fixedText } from '../http/responses.ts';
import type { SpecSettings } from '../openapi/info.ts';
import { anyOrigin, specCacheControl } from '../openapi/public-operations.ts';
import type { OpenApiDocument } from '../openapi/types.ts';

const isDocs = (path: string): boolean => path === '/docs' || path.startsWith('/docs/');

/** Whether a path needs no key and contains no organization's data. */
export const isPublic = (path: string): boolean =>
  path === '/health' || path === '/openapi.json' || isDocs(path);

/** `data:` is for the icons in stylesheets, and the form searches these pages. */
const policy = securityPolicy({ 'img-src': "'self' data:", 'form-action': "'self'" });
const docsHeaders = { 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' };

const specHeaders = { 'Cache-Control': specCacheControl };
const pageCacheControl = 'public, max-age=300';
/** For assets whose URL changes with their content: one year, in seconds. */
const assetCacheControl = 'public, max-age=31536000, immutable';

/** `route` is its path, or the pattern of its paths. */
type Resource = { route: string; headers: Record<string, string>; send: (context: Context) => void };

/** Serves `/health`, the OpenAPI document, the documentation and its assets to anyone. */
export function servePublic({ spec, ...settings }: SpecSettings & { spec: OpenApiDocument }): Middleware {
  const assets = createAssets();
  const site = createSite(settings, assets.folder);
  const { fixed, search, missing } = createPages(site, spec);
  const send = (context: Context, body: string, status = 200) =>
    Object.assign(context, { status, type: 'text/html', body });
  const pages = [...fixed].map(([route, page]): Resource => {
    const links = `<${site.href(route)}>; rel="canonical", <${site.href('/openapi.json')}>; rel="service-desc"`;
    const headers = { ...docsHeaders, 'Cache-Control': pageCacheControl, Link: links };
    return { route, headers, send: fixedText(page, 'text/html') };
  });
  const results = (context: Context) => send(context, search(String([context.query.q ?? ''].flat()[0])));
  const resources: Resource[] = [
    // The process answers; `/readyz` on the admin port asks the store.
    { route: '/health', headers: {}, send: (context) => (context.body = { status: 'ok' }) },
    { route: '/openapi.json', headers: specHeaders, send: fixedText(JSON.stringify(spec)) },
    { route: '/docs/search', headers: docsHeaders, send: results },
    ...pages,
  ];
  const byRoute = new Map(resources.map((resource) => [resource.route, resource]));
  const noPage: Resource = {
    route: '/docs/:missing',
    headers: docsHeaders,
    send: (context) => send(context, missing, 404),
  };
  const find = (path: string): Resource => {
    const asset = assets.at(path);
    // `/docs/` and `/docs` serve the same page; links have no base, so they work on both.
    if (!asset) return byRoute.get(path.replace(/\/$/, '')) ?? noPage;
    // During a rolling update a page of one version may load its assets from a replica of the other.
    const headers = {
      ...docsHeaders,
      'Cache-Control': asset.isCurrent ? assetCacheControl : 'public, no-cache',
    };
    return { route: '/docs/assets/:version/:name', headers, send: asset.send };
  };
  return (context, next) => {
    if (!isPublic(context.path)) return next();
    const resource = find(context.path);
    context.state.route = resource.route;
    // Tools that run in a browser, on a page of another host, read the document, too.
    if (resource.route === '/openapi.json') context.set(anyOrigin);
    if (!handleMethod(context)) return undefined;
    context.set(resource.headers);
    resource.send(context);
    return undefined;
  };
}
