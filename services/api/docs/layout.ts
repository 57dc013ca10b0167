import { html, type Html } from './html.ts';
import type { Site } from './site.ts';

export type Page = {
  /** Below the service: `/docs/errors`. */
  path: string;
  title: string;
  /** Goes into the head: what this page needs besides the stylesheet of all. */
  head?: Html;
  /** Class of the content: running text unless the renderer brings styles of its own. */
  content?: 'text' | 'reference';
  body: Html;
};

const sections = [
  { path: '/docs', name: 'Reference' },
  { path: '/docs/guides/paging', name: 'Paging' },
  { path: '/docs/guides/exports', name: 'Exports' },
  { path: '/docs/errors', name: 'Errors' },
];

/** The whole document around a page. */
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

/** The link to the section of the page at `current`; the page of a code belongs to the errors. */
function link({ href }: Site, { path, name }: (typeof sections)[number], current: string): Html {
  const isWithin = path !== '/docs' && current.startsWith(`${path}/`);
  const mark = current === path ? html` aria-current="page"` : isWithin ? html` aria-current="true"` : html``;
  return html`<li><a href="${href(path)}" ${mark}>${name}</a></li>`;
}

/** Code that the reader may copy; it scrolls by itself, with the keyboard too, when it is wider than the page. */
export const codeBlock = (label: string, text: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}"><code>${text.trim()}</code></pre>`;
