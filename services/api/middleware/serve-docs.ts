import { securityPolicy } from '../../../shared/pages/security-policy.ts';
import { ApiError } from '../http/api-error.ts';
import { fixedText, sendEncoded } from '../http/responses.ts';
import { handleMethod } from '../http/methods.ts';
import { isDocs } from './public-paths.ts';
import type { Middleware } from '../http/context.ts';
import type { SpecSettings } from '../openapi/info.ts';
import { createAssets } from '../docs/assets.ts';
import { createSite } from '../docs/layout.ts';
import { createPages } from '../docs/pages.ts';

/** The renderer sets styles through the CSSOM, to which the policy does not apply. `data:` is for the icons in its stylesheet. */
const contentSecurityPolicy = securityPolicy({ 'img-src': "'self' data:" });

const pageCacheControl = 'public, max-age=300';
/** For assets whose URL changes with their content: one year, in seconds. */
const assetCacheControl = 'public, max-age=31536000, immutable';

/** `GET /docs…`: serves the documentation pages and their assets to anyone. */
export function serveDocs(settings: SpecSettings, assets = createAssets()): Middleware {
  const site = createSite(settings, assets.folder);
  const pages = new Map([...createPages(site)].map(([path, html]) => [path, fixedText(html, 'text/html')]));
  return async (context, next) => {
    if (!isDocs(context.path)) {
      await next();
      return;
    }
    const asset = assets.at(context.path);
    // `/docs/` and `/docs` serve the same page; links have no base, so they work on both.
    const path = context.path.replace(/\/$/, '');
    const page = pages.get(path);
    if (!asset && !page) throw new ApiError('route_not_found');
    context.state.route = asset ? '/docs/assets/:version/:name' : path;
    if (!handleMethod(context)) return;
    context.set('Content-Security-Policy', contentSecurityPolicy);
    context.set('Referrer-Policy', 'no-referrer');
    if (asset) {
      // During a rolling update a page of one version may load its assets from a replica of the other.
      context.set('Cache-Control', asset.isCurrent ? assetCacheControl : 'public, no-cache');
      return sendEncoded(context, asset.type, (encoding) => assets.read(asset.name, encoding));
    }
    context.set('Cache-Control', pageCacheControl);
    context.set(
      'Link',
      `<${site.href(path)}>; rel="canonical", <${site.href('/openapi.json')}>; rel="service-desc"`,
    );
    await page?.(context);
  };
}
