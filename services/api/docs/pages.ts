import { html } from '../../../shared/pages/html.ts';
import type { OpenApiDocument } from '../openapi/spec.ts';
import { errorPages } from './error-pages.ts';
import { guides, layout, searchForm, type Page, type Site } from './layout.ts';
import { readMarkdown, renderMarkdown, titleOf } from './markdown.ts';
import { referencePage } from './reference.ts';
import { createSearch } from './search.ts';

export function createPages(site: Site, spec: OpenApiDocument) {
  const pages = [
    referencePage(site, spec),
    ...Object.keys(guides).map((name) => guide(site, name)),
    ...errorPages(site),
  ];
  const search = createSearch(site, pages);
  const shown = (path: string, title: string, body: Page['body']) => layout(site, { path, title, body });
  return {
    /** The HTML of every page by its path. Pages do not change while the process runs. */
    fixed: new Map(pages.map((page) => [page.path, layout(site, page)])),
    search: (query: string) => shown('/docs/search', 'Search', search(query)),
    missing: shown(
      '/docs/search',
      'No such page',
      html`<h1>No such page</h1>
        <p>Search for it, or begin at the <a href="${site.href('/docs')}">reference</a>.</p>
        ${searchForm(site)}`,
    ),
  };
}

function guide(site: Site, name: string): Page {
  const tokens = readMarkdown(site, `guides/${name}.md`);
  return { path: `/docs/guides/${name}`, title: titleOf(tokens), body: renderMarkdown(site, tokens) };
}
