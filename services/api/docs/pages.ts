import { type Html, html } from '../../../shared/pages/html.ts';
import type { OpenApiDocument } from '../openapi/spec.ts';
import { errorPages } from './error-pages.ts';
import { guides, layout, markdownPath, type Page, searchForm, type Site } from './layout.ts';
import { markdownPage, readMarkdown } from './markdown.ts';
import { referencePage } from './reference.ts';
import { createSearch } from './search.ts';

export function createPages(site: Site, spec: OpenApiDocument) {
  const pages = [
    referencePage(site, spec),
    ...Object.keys(guides).map((file) => guidePage(site, file)),
    ...errorPages(site),
  ];
  const search = createSearch(site, pages);
  const searchPage = (title: string, body: Html) => layout(site, { path: '/docs/search', title, body });
  return {
    /** The HTML of every page by its path. Pages do not change while the process runs. */
    htmlByPath: new Map(pages.map((page) => [page.path, layout(site, page)])),
    /** The Markdown of every page, and the index for language models, by their paths. */
    textByPath: new Map([
      ['/llms.txt', llmsTxt(site, spec, pages)],
      ...pages.map(({ path, markdown }) => [markdownPath(path), `${markdown}\n`] as const),
    ]),
    /** The HTML of the page with the results of a query. */
    resultsPage: (query: string) => searchPage('Search', search(query)),
    notFound: searchPage(
      'No such page',
      html`<h1>No such page</h1>
        <p>Search for it, or begin at the <a href="${site.href('/docs')}">reference</a>.</p>
        ${searchForm(site)}`,
    ),
  };
}

function guidePage(site: Site, file: string): Page {
  return markdownPage(site, {
    path: `/docs/guides/${file}`,
    tokens: readMarkdown(site, `guides/${file}.md`),
  });
}

/** The index of all pages for language models, in the format of https://llmstxt.org: one line for each page. */
function llmsTxt(site: Site, { info }: OpenApiDocument, pages: Page[]): string {
  const line = (title: string, href: string, description: string) => `- [${title}](${href}): ${description}`;
  const linesOf = (listed: Page[]) =>
    listed
      .map(({ title, path, description }) => line(title, site.markdownHref(path), description))
      .join('\n');
  const pagesUnder = (folder: string) => pages.filter(({ path }) => path.startsWith(folder));
  const referenceLine = linesOf(pages.filter(({ path }) => path === '/docs'));
  const guideLines = linesOf(pagesUnder('/docs/guides'));
  const errorLines = linesOf(pagesUnder('/docs/errors'));
  const openApiLine = line(
    'OpenAPI 3.1 document',
    site.href('/openapi.json'),
    'Every endpoint and schema, for generators of clients.',
  );
  return `# ${info.title}

> ${info.summary}

The address of the API is ${site.apiUrl}. Every page is Markdown at the address of the page with \`.md\` after it.

## Reference

${referenceLine}
${openApiLine}

## Guides

${guideLines}

## Errors

${errorLines}
`;
}
