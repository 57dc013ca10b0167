import { mkdirSync, readFileSync } from 'node:fs';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import type { OpenApiDocument } from '../../services/api/openapi/types.ts';
import { errorCodes } from '../../services/api/http/error-envelope.ts';
import { useApi } from '../api/test-api.ts';
import { startChromium } from '../support/chromium.ts';
import { overflow, picture, visit, type Visitor } from './visit.ts';

/** Screenshots of the pages, for people to look at. */
const pictures = 'artifacts/docs';
const phone = { width: 390, height: 844 };
const pages = [
  '/docs',
  '/docs/guides/paging',
  '/docs/guides/exports',
  '/docs/errors',
  ...errorCodes.map((code) => `/docs/errors/${code}`),
];

const api = useApi({}, { hasTls: true });
let browser: Browser;
let url: string;
// The first run on a machine downloads the browser.
beforeAll(async () => {
  mkdirSync(pictures, { recursive: true });
  browser = await startChromium();
  url = `https://127.0.0.1:${api.port}`;
}, 600_000);
afterAll(() => browser?.close());

const withReader = (options: BrowserContextOptions, work: (reader: Visitor) => Promise<void>) =>
  visit(browser, url, options, work);

/** Scrolls to an operation, which the reference renders when it comes into view. */
async function showOperation({ page, open }: Visitor, id: string) {
  await open(`/docs#api-1/${id}`);
  const operation = page.locator(`[id="api-1/${id}"]`);
  await operation.locator('.scalar-code-block, pre').first().waitFor();
  return operation;
}

test('the reference shows each operation with its fields and errors, and a request and a response beside them', async () => {
  await withReader({}, async (reader) => {
    const { paths } = JSON.parse(readFileSync('openapi.json', 'utf8')) as OpenApiDocument;
    for (const [path, { get }] of Object.entries(paths)) {
      const tag = get.tags[0]?.toLowerCase();
      const operation = await showOperation(reader, `tag/${tag}/GET${path}`);
      const text = await operation.innerText();
      expect(text).toContain(get.summary);
      expect(text).toContain(path);
      for (const status of ['200', '500'])
        expect([path, text]).toEqual([path, expect.stringContaining(status)]);
      const [sample] = get['x-codeSamples'] ?? [];
      if (sample) expect(text).toContain(sample.source.split('\n')[0]);
    }
    const operation = await showOperation(reader, 'tag/tickets/GET/v1/tickets');
    expect(await reader.page.evaluate(overflow)).toBe(0);
    await operation.getByText('curl', { exact: true }).first().click();
    await reader.page.getByText('TypeScript', { exact: true }).first().click();
    await operation.getByText('client.tickets.list()').first().waitFor();
    expect(await reader.page.getByText('Test Request').count()).toBe(0);
  });
}, 240_000);

test('every page has a language, a unique title, one heading and working links, and fits on a phone', async () => {
  await withReader({}, async ({ page, open }) => {
    const titles = new Set<string>();
    const links = new Set<string>();
    for (const path of pages) {
      await open(path);
      await page.setViewportSize(phone);
      expect([path, await page.evaluate(overflow)]).toEqual([path, 0]);
      expect(await page.locator('html').getAttribute('lang')).toBe('en');
      titles.add(await page.title());
      expect([path, await page.locator('h1').count()]).toEqual([path, 1]);
      for (const link of await page.locator('a[href]').all()) {
        const { origin, href } = new URL(String(await link.getAttribute('href')), page.url());
        if (origin === url) links.add(href);
      }
    }
    expect(titles.size).toBe(pages.length);
    for (const link of links) {
      const [address = ''] = link.split('#');
      const reply = await page.request.get(address);
      expect([link, reply.status()]).toEqual([link, 200]);
    }
    const paths = [...links].map((link) => new URL(link).pathname);
    expect(pages.filter((path) => !paths.includes(path))).toEqual([]);
  });
}, 240_000);

test('the pages pass the accessibility rules of axe in both schemes; pictures of them are saved', async () => {
  const paths = ['/docs', '/docs/guides/exports', '/docs/errors', '/docs/errors/invalid_cursor'];
  const named = Object.fromEntries(paths.map((path) => [path.slice(1).replaceAll('/', '-'), path]));
  // On a phone, the reference has two banners, which are not ours.
  await picture(browser, url, named, { prefix: `${pictures}/`, axeWidths: [1280] });
}, 240_000);

test('the keyboard reaches the content and the code', async () => {
  await withReader({}, async ({ page, open }) => {
    const focused = () => page.evaluate('document.activeElement.textContent.trim()');
    await open('/docs/guides/paging');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the content');
    const skip = await page.locator('.skip').boundingBox();
    expect(skip?.x).toBeGreaterThanOrEqual(0);
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.role')).toBe('region');
  });
});
