import { pageDocument, type NavigationLink } from '../../../shared/pages/document.ts';
import { html, type Html } from '../../../shared/pages/html.ts';
import { exampleOrigin } from '../openapi/errors.ts';
import type { SpecSettings } from '../openapi/info.ts';

/** The URLs of pages and assets, and the settings that pages contain. */
export type Site = {
  /** URL of the API in examples. */
  apiUrl: string;
  /** URL of a path of this service, for links in pages. */
  href: (path: string) => string;
  /** URL of an asset; it changes with the asset's content. */
  asset: (name: string) => string;
  settings: SpecSettings;
};

/** Links contain no host, so pages are the same under every host name of the service. */
export function createSite(settings: SpecSettings, assetFolder: string): Site {
  const { baseUrl } = settings.docs;
  const prefix = baseUrl ? new URL(baseUrl).pathname.replace(/\/$/, '') : '';
  const href = (path: string) => prefix + path;
  return {
    apiUrl: baseUrl ?? exampleOrigin,
    href,
    asset: (name) => href(`${assetFolder}/${name}`),
    settings,
  };
}

export type Page = {
  /** Path of the page, such as `/docs/errors`. */
  path: string;
  title: string;
  /** Content of the head that this page needs besides the common stylesheet. */
  head?: Html;
  /** CSS class of the content, if the renderer brings its own styles. */
  content?: 'reference';
  body: Html;
};

const sections = [
  { path: '/docs', name: 'Reference' },
  { path: '/docs/guides/paging', name: 'Paging' },
  { path: '/docs/guides/exports', name: 'Exports' },
  { path: '/docs/guides/versioning', name: 'Versioning' },
  { path: '/docs/errors', name: 'Errors' },
];

/** The complete HTML document of a page. */
export const layout = (site: Site, { path, title, head, content, body }: Page): string =>
  pageDocument({
    title,
    site: 'Support Data API',
    icon: site.asset('icon.svg'),
    stylesheets: [site.asset('pico.css'), site.asset('site.css')],
    navigation: { label: 'Documentation', links: sections.map((section) => link(site, section, path)) },
    ...(head && { head }),
    ...(content && { content }),
    body,
    footer: html`<a href="${site.href('/openapi.json')}">OpenAPI 3.1 document</a>`,
  });

/** The link to a section; the page of a code, at `current`, is in Errors. */
function link({ href }: Site, { path, name }: (typeof sections)[number], current: string): NavigationLink {
  const isWithin = path !== '/docs' && current.startsWith(`${path}/`);
  return { href: href(path), name, current: current === path ? 'page' : isWithin ? 'true' : null };
}
