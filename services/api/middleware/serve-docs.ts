import { securityPolicy } from '../../../shared/pages/security-policy.ts';
import { fixedText, sendEncoded } from '../http/responses.ts';
import { handleMethod } from '../http/methods.ts';
import { isDocs } from './public-paths.ts';
import type { Middleware } from '../http/context.ts';
import type { SpecSettings } from '../openapi/info.ts';
import { createAssets } from '../docs/assets.ts';
import { createSite } from '../docs/layout.ts';
import { createPages } from '../docs/pages.ts';
import type { OpenApiDocument } from '../openapi/types.ts';

/** `data:` is for the icons in stylesheets, and the form searches these pages. */
const policy = securityPolicy({ 'img-src': "'self' data:", 'form-action': "'self'" });

const pageCacheControl = 'public, max-age=300';
/** For assets whose URL changes with their content: one year, in seconds. */
const assetCacheControl = 'public, max-age=31536000, immutable';

/** `GET /docs…`: serves the documentation pages and their assets to anyone. */
export function serveDocs({ spec, ...settings }: SpecSettings & { spec: OpenApiDocument }): Middleware {
  const assets = createAssets();
  const site = createSite(settings, assets.folder);
  const { fixed, search, missing } = createPages(site, spec);
  const pages = new Map([...fixed].map(([path, html]) => [path, fixedText(html, 'text/html')]));
  return async (context, next) => {
    if (!isDocs(context.path)) {
      await next();
      return;
    }
    const asset = assets.at(context.path);
    // `/docs/` and `/docs` serve the same page; links have no base, so they work on both.
    const path = context.path.replace(/\/$/, '');
    const page = pages.get(path);
    const isSearch = path === '/docs/search';
    context.state.route = asset ? '/docs/assets/:version/:name' : page || isSearch ? path : '/docs/:missing';
    if (!handleMethod(context)) return;
    context.set('Content-Security-Policy', policy);
    context.set('Referrer-Policy', 'no-referrer');
    if (asset) {
      // During a rolling update a page of one version may load its assets from a replica of the other.
      context.set('Cache-Control', asset.isCurrent ? assetCacheControl : 'public, no-cache');
      return sendEncoded(context, asset.type, asset.encoded);
    }
    if (!page) {
      context.status = isSearch ? 200 : 404;
      context.type = 'text/html';
      context.body = isSearch ? search(String([context.query.q ?? ''].flat()[0])) : missing;
      return;
    }
    context.set('Cache-Control', pageCacheControl);
    context.set(
      'Link',
      `<${site.href(path)}>; rel="canonical", <${site.href('/openapi.json')}>; rel="service-desc"`,
    );
    await page(context);
  };
}
