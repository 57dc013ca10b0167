import { randomBytes } from 'node:crypto';
import { securityPolicy } from '../../../shared/pages/security-policy.ts';
import { ApiError } from '../http/api-error.ts';
import { fixedText, sendEncoded } from '../http/responses.ts';
import { handleMethod } from '../http/methods.ts';
import { isDocs } from './public-paths.ts';
import type { Context, Middleware } from '../http/context.ts';
import type { SpecSettings } from '../openapi/info.ts';
import { createAssets } from '../docs/assets.ts';
import { createSite } from '../docs/layout.ts';
import { createPages, noncePlaceholder } from '../docs/pages.ts';

/** `data:` is for the icons in stylesheets. */
const images = { 'img-src': "'self' data:" };

const pageCacheControl = 'public, max-age=300';
/** For assets whose URL changes with their content: one year, in seconds. */
const assetCacheControl = 'public, max-age=31536000, immutable';

/** `GET /docs…`: serves the documentation pages and their assets to anyone. */
export function serveDocs(settings: SpecSettings, assets = createAssets()): Middleware {
  const site = createSite(settings, assets.folder);
  const texts = createPages(site);
  const reference = texts.get('/docs') ?? '';
  const pages = new Map([...texts].map(([path, html]) => [path, fixedText(html, 'text/html')]));
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
    context.set('Content-Security-Policy', securityPolicy(images));
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
    if (path === '/docs') sendReference(context, reference);
    else await page?.(context);
  };
}

/** The renderer makes its styles in the browser, so this page alone admits styles with the nonce of the response. */
function sendReference(context: Context, text: string): void {
  const nonce = randomBytes(16).toString('base64');
  const styles = { 'style-src': `'self' 'nonce-${nonce}'` };
  context.set('Content-Security-Policy', securityPolicy({ ...styles, ...images }));
  context.set('Cache-Control', 'no-store');
  context.type = 'text/html';
  context.body = text.replaceAll(noncePlaceholder, nonce);
}
