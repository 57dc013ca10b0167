import { pageDocument, textClasses } from '../../../shared/pages/document.ts';
import { type Html, html } from '../../../shared/pages/html.ts';
import { exampleOrigin } from '../openapi/errors.ts';
import type { PageSettings } from '../openapi/info.ts';
import { assetPath } from './assets.ts';

/**
 * The URLs of pages and assets, and the settings that pages contain. Links contain no host, so pages are the same under
 * every host name of the service.
 */
export type Site = {
  /** URL of the API in examples. */
  apiUrl: string;
  /** URL of a path of this service, for links in pages. */
  href: (path: string) => string;
  /** URL of the Markdown of a page, by the path of the page. */
  markdownHref: (path: string) => string;
  /** URL of an asset. */
  asset: (name: string) => string;
  settings: PageSettings;
};

export function createSite(settings: PageSettings): Site {
  const { baseUrl } = settings;
  const prefix = baseUrl ? new URL(baseUrl).pathname.replace(/\/$/, '') : '';
  const href = (path: string) => prefix + path;
  return {
    apiUrl: baseUrl ?? exampleOrigin,
    href,
    markdownHref: (path) => href(markdownPath(path)),
    asset: (name) => href(assetPath(name)),
    settings,
  };
}

/** The path of the Markdown of a page, with its fragment at the end, such as `/docs/guides/paging.md#limits`. */
export function markdownPath(path: string): string {
  const fragmentAt = path.indexOf('#');
  if (fragmentAt < 0) return `${path}.md`;
  return `${path.slice(0, fragmentAt)}.md${path.slice(fragmentAt)}`;
}

type PageContent = {
  /** Path of the page, such as `/docs/errors`. */
  path: string;
  title: string;
  /** Leaves space for a table of contents and examples beside the text. */
  isWide?: boolean;
  body: Html;
};

/** A page that `/llms.txt` lists. */
export type Page = PageContent & {
  /** One sentence, in Markdown: the line of the page in `/llms.txt`. */
  description: string;
  /** The page in Markdown, from its title on. */
  markdown: string;
};

/** The name of each guide in the navigation. A key is the name of a file in docs/guides/, without `.md`. */
export const guides = {
  paging: 'Paging',
  exports: 'Exports',
  dlt: 'dlt',
  airbyte: 'Airbyte',
  singer: 'Singer',
  versioning: 'Versioning',
};

const sections = [
  { path: '/docs', name: 'Reference' },
  ...Object.entries(guides).map(([file, name]) => ({ path: `/docs/guides/${file}`, name })),
  { path: '/docs/errors', name: 'Errors' },
];

/** The complete HTML document of a page. Only a page with Markdown gets a link to it. */
export function layout(site: Site, page: PageContent & { markdown?: string }): string {
  const { path, title, isWide = false, body, markdown } = page;
  const markdownLink =
    markdown === undefined ? html`` : html`· <a href="${site.markdownHref(path)}">This page in Markdown</a>`;
  return pageDocument({
    title,
    siteName: 'Support Data API',
    icon: site.asset('icon.svg'),
    stylesheets: ['pico.css', 'site.css', 'docs.css'].map(site.asset),
    navigation: {
      label: 'Documentation',
      links: sections.map((section) => ({
        href: site.href(section.path),
        name: section.name,
        current: ariaCurrent(section.path, path),
      })),
    },
    besideNavigation: path === '/docs/search' ? html`` : searchForm(site),
    head: html`<script src="${site.asset('copy.mjs')}" type="module"></script>`,
    contentClasses: isWide ? `${textClasses} wide` : textClasses,
    body,
    footer: html`<a href="${site.href('/openapi.json')}">OpenAPI 3.1 document</a> ·
      <a href="${site.href('/llms.txt')}">llms.txt</a>
      ${markdownLink}`,
  });
}

/**
 * The `aria-current` of a section's link: `page` for the page itself; `true` for the section that contains the page,
 * such as Errors for the page of one error.
 */
function ariaCurrent(section: string, path: string): 'page' | 'true' | null {
  if (path === section) return 'page';
  return section !== '/docs' && path.startsWith(`${section}/`) ? 'true' : null;
}

/** The search field. On the page of results, the field contains the query. */
export const searchForm = ({ href }: Site, query = ''): Html =>
  html`<form role="search" action="${href('/docs/search')}">
    <input
      type="search"
      name="q"
      value="${query}"
      placeholder="Search"
      aria-label="Search the documentation"
    />
  </form>`;

/** A heading to which links lead. */
export const heading = (level: number, id: string, text: Html): Html => ({
  html: `<h${level} id="${id}"><a href="#${id}">${text.html}</a></h${level}>`,
});
