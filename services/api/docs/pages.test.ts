import { Marked } from 'marked';
import { createPages } from './pages.ts';
import { createSite } from './layout.ts';
import { renderMarkdown } from './markdown.ts';

const settings = {
  docs: { docsUrl: undefined, baseUrl: 'https://acme.test/support' },
  keyPrefix: 'acme',
  limit: { requests: 7, windowSeconds: 30 },
};
const pages = createPages(createSite(settings, '/docs/assets/0'));

test('examples show the configured address and key prefix', () => {
  const guide = pages.get('/docs/guides/paging');
  expect(guide).toContain('https://acme.test/support');
  expect(guide).toContain('acme_live_');
  expect(pages.get('/docs/errors/invalid_cursor')).toContain(
    'https://acme.test/support/docs/errors/invalid_cursor',
  );
});

test('HTML in Markdown is text, and a link to a page that is not served is refused', () => {
  const site = createSite(settings, '/docs/assets/0');
  const render = (text: string) => renderMarkdown(site, new Marked().lexer(text)).html;
  expect(render('a <b onclick="x">b</b>\n\n<script>x</script>\n')).not.toMatch(/<(?:b|script)/);
  expect(render('[e](errors.md#invalid_cursor)')).toContain('href="/support/docs/errors/invalid_cursor"');
  expect(() => render('[e](operating.md)')).toThrow('operating.md');
});

test('links start with the path under which the service is published', () => {
  for (const page of pages.values()) {
    const addresses = [...page.matchAll(/ (?:href|src|data-document)="([^"#][^"]*)"/g)].map(([, to]) => to);
    expect(addresses.length).toBeGreaterThan(5);
    expect(addresses.filter((to) => !to?.startsWith('/support/'))).toEqual([]);
  }
});
