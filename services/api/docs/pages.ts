import { errorPages } from './error-pages.ts';
import { html } from '../../../shared/pages/html.ts';
import { layout, type Page, type Site } from './layout.ts';
import { readMarkdown, renderMarkdown } from './markdown.ts';

/** The HTML of every page by its path. Pages do not change while the process runs. */
export function createPages(site: Site): Map<string, string> {
  const pages = [
    referencePage(site),
    guide(site, 'paging', 'Paging'),
    guide(site, 'exports', 'Complete incremental exports'),
    guide(site, 'versioning', 'Versioning'),
    ...errorPages(site),
  ];
  return new Map(pages.map((page) => [page.path, layout(site, page)]));
}

const guide = (site: Site, name: string, title: string): Page => ({
  path: `/docs/guides/${name}`,
  title,
  body: renderMarkdown(site, readMarkdown(site, `guides/${name}.md`)),
});

/** Stands for the nonce of a response in the text of the reference. */
export const noncePlaceholder = '{nonce}';

/** The page that the renderer fills in the browser from the OpenAPI document. */
const referencePage = (site: Site): Page => ({
  path: '/docs',
  title: 'Reference',
  content: 'reference',
  head: html`<meta property="csp-nonce" content="${noncePlaceholder}" />
    <link rel="stylesheet" href="${site.asset('reference.css')}" />
    <script src="${site.asset('reference.mjs')}" type="module"></script> `,
  body: html`<noscript
      ><p>
        The reference needs JavaScript. Its whole content is in the
        <a href="${site.href('/openapi.json')}">OpenAPI document</a>.
      </p></noscript
    >
    <div
      id="reference"
      data-document="${site.href('/openapi.json')}"
      data-renderer="${site.asset('scalar.js')}"
    ></div>`,
});
