import { Marked } from 'marked';
import { errorCodes } from '../http/error-envelope.ts';
import { specFor } from '../openapi/write.ts';
import { createSite } from './layout.ts';
import { renderMarkdown } from './markdown.ts';
import { createPages } from './pages.ts';

const settings = { baseUrl: 'https://acme.test/support', keyPrefix: 'acme', clientPackage: '@acme/support' };
const {
  htmlByPath: pages,
  textByPath: texts,
  resultsPage,
} = createPages(
  createSite(settings),
  specFor({
    MONGODB_URL: 'mongodb://localhost',
    API_BASE_URL: settings.baseUrl,
    CLIENT_PACKAGE: settings.clientPackage,
  }),
);

test('examples show the configured address, key prefix and client', () => {
  const guide = pages.get('/docs/guides/paging');
  for (const path of ['/docs', '/docs/guides/paging', '/docs/guides/exports']) {
    expect(pages.get(path)).toContain('@acme/support');
    expect(pages.get(path)).not.toContain('@support-read-models');
  }
  expect(guide).toContain('https://acme.test/support');
  expect(guide).toContain('acme_live_');
  expect(pages.get('/docs/errors/invalid_cursor')).toContain(
    'https://acme.test/support/docs/errors/invalid_cursor',
  );
});

test('the Markdown of a page has its text, its examples and the settings', () => {
  const guide = texts.get('/docs/guides/exports.md') ?? '';
  expect(guide).toMatch(/^# .+\n\n/);
  expect(guide).toContain("from '@acme/support'");
  expect(guide).toContain('](/support/docs/errors/conversation_not_found.md)');
  expect(guide).toMatch(/^```sh /m);
  const error = texts.get('/docs/errors/invalid_cursor.md') ?? '';
  expect(error).toMatch(/^# invalid_cursor\n\nStatus 422 Unprocessable Entity, type `/);
  expect(error).toContain('**Fix.**');
  expect(error).toContain('"docUrl": "https://acme.test/support/docs/errors/invalid_cursor"');
  const reference = texts.get('/docs.md') ?? '';
  for (const part of [
    '### List tickets\n\n`GET /v1/tickets`\n',
    '- `sort` (query, string: `createdAt`, `-createdAt`, `updatedAt`, `-updatedAt`, default `-updatedAt`): The sort field',
    '- `data[].requester.email.verified` (boolean): ',
    '- `config.routesTo.name` (string, only if `type` is `form`): ',
    '- `429`: Too Many Requests: [`too_many_requests`](/support/docs/errors/too_many_requests.md).',
    '```python\nimport os',
  ])
    expect(reference).toContain(part);
});

test('docs/errors.md has a section with causes and a fix for each error', () => {
  const lacking = errorCodes.filter((code) => !pages.get(`/docs/errors/${code}`)?.includes('Fix'));
  expect(lacking).toEqual([]);
});

test('HTML in Markdown becomes text', () => {
  const site = createSite(settings);
  const render = (text: string) => renderMarkdown(site, new Marked().lexer(text)).html;
  expect(render('a <b onclick="x">b</b>\n\n<script>x</script>\n')).not.toMatch(/<(?:b|script)/);
  expect(render('[e](errors.md#invalid_cursor)')).toContain('href="/support/docs/errors/invalid_cursor"');
  expect(() => render('[e](operating.md)')).toThrow('operating.md');
});

test('a link to a heading of its own guide leads to that heading', () => {
  const path = '/support/docs/guides/exports';
  expect(pages.get('/docs/guides/exports')).toContain(`href="${path}#what-comes-twice"`);
  expect(texts.get('/docs/guides/exports.md')).toContain(`](${path}.md#what-comes-twice)`);
});

test('links start with the path under which the service is published', () => {
  for (const page of pages.values()) {
    const addresses = [...page.matchAll(/ (?:href|src|action)="([^"#][^"]*)"/g)].map(([, to]) => to);
    expect(addresses.length).toBeGreaterThan(5);
    expect(addresses.filter((to) => !to?.startsWith('/support/'))).toEqual([]);
  }
});

test('the reference has the path, the type and the variant of each field of a response', () => {
  const shown = (pages.get('/docs') ?? '').matchAll(/<dt>([^]*?)<\/dt>/g);
  const fields = [...shown].map(([, term = '']) =>
    term
      .replace(/<[^>]+>|\s+/g, ' ')
      .replace(/ +/g, ' ')
      .trim(),
  );
  expect(fields).toEqual(
    expect.arrayContaining([
      'data[].requester.email.verified boolean',
      'data[].estimatedScore integer from 1 to 5 or null',
      'estimatedScore integer from 1 to 5 or null',
      'data[].conversations[].role string',
      'sort query, string: createdAt , -createdAt , updatedAt , -updatedAt , default -updatedAt',
      'type &quot;email&quot; or &quot;chatbot&quot; or &quot;form&quot;',
      'config.routesTo.name string, only if type is form',
      'config.aiMode.replyDelayMinutes number, only if type is email',
    ]),
  );
});

test('the search finds sections of the reference, the guides and the errors that have all words', () => {
  const resultsOf = (query: string) =>
    [...resultsPage(query).matchAll(/<p><a href="([^"]+)">/g)].map(([, href]) => href);
  expect(resultsOf('Data-As-Of earliest')).toContain('/support/docs/guides/exports#the-recipe');
  expect(resultsOf('estimatedscore analyzed')).toEqual([
    '/support/docs#listTickets',
    '/support/docs#retrieveTicket',
  ]);
  expect(resultsOf('invalid_cursor')[0]).toBe('/support/docs/errors/invalid_cursor');
  // The text of an error and its example are one section.
  expect(resultsOf('percent-encoding requestid')).toEqual(['/support/docs/errors/malformed_request']);
  expect(resultsOf('example').join()).toMatch(/docs\/guides\/.*docs\/errors\//);
  expect(resultsOf('nothing has these words')).toEqual([]);
  expect(resultsOf('')).toEqual([]);
  expect(resultsPage('"><script>')).not.toContain('<script>');
});

test('a page has the search form and the sections to which results lead', () => {
  expect(pages.get('/docs')).toMatch(/<form role="search" action="\/support\/docs\/search">[^]*? name="q"/);
  expect(pages.get('/docs/guides/exports')).toContain('id="the-recipe"');
});
