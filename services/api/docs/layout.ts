import { exampleOrigin } from '../openapi/errors.ts';
import type { SpecSettings } from '../openapi/info.ts';
import { html, type Html } from './html.ts';

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
  /** CSS class of the content: `reference` if the renderer brings its own styles, otherwise `text`. */
  content?: 'text' | 'reference';
  body: Html;
};

const sections = [
  { path: '/docs', name: 'Reference' },
  { path: '/docs/guides/paging', name: 'Paging' },
  { path: '/docs/guides/exports', name: 'Exports' },
  { path: '/docs/errors', name: 'Errors' },
];

/** The complete HTML document of a page. */
export const layout = (site: Site, { path, title, head = html``, content = 'text', body }: Page): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Support Data API</title>
        <link rel="icon" type="image/svg+xml" href="${site.asset('icon.svg')}" />
        <link rel="stylesheet" href="${site.asset('site.css')}" />
        ${head}
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <strong>Support Data API</strong>
          <nav aria-label="Documentation">
            <ul>
              ${sections.map((section) => link(site, section, path))}
            </ul>
          </nav>
        </header>
        <div id="content" class="${content}" role="main" tabindex="-1">${body}</div>
        <footer><a href="${site.href('/openapi.json')}">OpenAPI 3.1 document</a></footer>
      </body>
    </html> `.html;

/** The link to a section, marked if the page at `current` is in it; the page of a code is in Errors. */
function link({ href }: Site, { path, name }: (typeof sections)[number], current: string): Html {
  const isWithin = path !== '/docs' && current.startsWith(`${path}/`);
  const mark = current === path ? html` aria-current="page"` : isWithin ? html` aria-current="true"` : html``;
  return html`<li><a href="${href(path)}" ${mark}>${name}</a></li>`;
}

/** Code for copying. Wide code scrolls on its own, also with the keyboard. */
export const codeBlock = (label: string, text: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}"><code>${text.trim()}</code></pre>`;
