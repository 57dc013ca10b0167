import { mkdirSync, readFileSync } from 'node:fs';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { errorCodes } from '../../services/api/http/error-envelope.ts';
import type { OpenApiDocument } from '../../services/api/openapi/spec.ts';
import { useApi } from '../api/test-api.ts';
import { startChromium } from '../support/chromium.ts';
import { overflow, takePicturesOf, visit, type Visitor } from './visit.ts';

/** Screenshots of the pages for a person to look at. */
const picturesFolder = 'artifacts/docs';
const phone = { width: 390, height: 844 };
const laptop = { width: 1280, height: 720 };
const pages = [
  '/docs',
  '/docs/guides/paging',
  '/docs/guides/exports',
  '/docs/guides/dlt',
  '/docs/guides/airbyte',
  '/docs/guides/singer',
  '/docs/guides/versioning',
  '/docs/errors',
  ...errorCodes.map((code) => `/docs/errors/${code}`),
];

const api = useApi({}, { hasTls: true });
let browser: Browser;
let url: string;
// The first run on a machine downloads the browser.
beforeAll(async () => {
  mkdirSync(picturesFolder, { recursive: true });
  browser = await startChromium();
  url = `https://127.0.0.1:${api.port}`;
});
afterAll(() => browser?.close());

const withReader = (options: BrowserContextOptions, work: (reader: Visitor) => Promise<void>) =>
  visit(browser, url, options, work);

/** Evaluates to the texts of the content that a foreign element covers in the view. */
const coveredTexts = `[...document.querySelectorAll('#content :is(h2, h3, h4, a, dt, dd, summary, pre, button)')]
  .filter((element) => {
    element.scrollIntoView({ block: 'start' });
    const [line] = element.getClientRects();
    if (!line || line.height === 0) return false;
    const seen = document.elementFromPoint(line.left + Math.min(line.width, 40) / 2, line.top + Math.min(line.height, 20) / 2);
    return !seen || !(element.contains(seen) || seen.contains(element));
  })
  .map(({ textContent }) => textContent)`;

/** Evaluates to the elements of the navigation that have their own scrollbar. */
const scrollbars = `[...document.querySelectorAll('header, aside, nav, nav *')]
  .filter((element) => {
    const { overflowX, overflowY } = getComputedStyle(element);
    const isScrolled = (style, inside, outside) => /auto|scroll/.test(style) && inside > outside;
    return (
      isScrolled(overflowX, element.scrollWidth, element.clientWidth) ||
      isScrolled(overflowY, element.scrollHeight, element.clientHeight)
    );
  })
  .map(({ tagName }) => tagName)`;

/** Evaluates to the elements whose text is smaller than 13 pixels. */
const tinyTexts = `[...document.querySelectorAll('body *')]
  .filter((element) => [...element.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim()))
  .filter((element) => parseFloat(getComputedStyle(element).fontSize) < 13)
  .map(({ outerHTML }) => outerHTML)`;

test('the reference shows each operation with its fields, statuses and samples', async () => {
  await withReader({}, async ({ page, open }) => {
    const { paths } = JSON.parse(readFileSync('openapi.json', 'utf8')) as OpenApiDocument;
    await open('/docs');
    for (const [path, { get }] of Object.entries(paths)) {
      const operation = page.locator('section').filter({ has: page.locator(`#${get.operationId}`) });
      const text = await operation.innerText();
      const samples = (get['x-codeSamples'] ?? []).map(({ label }) => label);
      for (const part of [get.summary, path, ...Object.keys(get.responses).slice(1), ...samples])
        expect({ path, text }).toEqual({ path, text: expect.stringContaining(part) as unknown });
    }
    expect(await page.evaluate(coveredTexts)).toEqual([]);
    const tickets = page.locator('section', { has: page.locator('#listTickets') });
    expect(await tickets.getByText('data[].estimatedScore').isVisible()).toBe(true);
    for (const [label, line] of [
      ['TypeScript', 'client.tickets.list()'],
      ['Python', 'import requests'],
    ] as const) {
      await tickets.getByText(label, { exact: true }).click();
      await tickets.getByText(line).waitFor();
    }
    expect(await tickets.getByText('--fail-with-body').isVisible()).toBe(false);
  });
});

test('the button of an example copies the example', async () => {
  await withReader({ permissions: ['clipboard-read', 'clipboard-write'] }, async ({ page, open }) => {
    await open('/docs/guides/paging');
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(
      /^export API='.*'\nexport API_KEY=/,
    );
  });
});

test('every page is readable on a laptop and on a phone', async () => {
  await withReader({}, async ({ page, open }) => {
    for (const path of pages) {
      await page.setViewportSize(laptop);
      await open(path);
      const onLaptop = {
        scrollbars: await page.evaluate(scrollbars),
        tinyTexts: await page.evaluate(tinyTexts),
      };
      expect({ path, ...onLaptop }).toEqual({ path, scrollbars: [], tinyTexts: [] });
      await page.setViewportSize(phone);
      expect({ path, overflow: await page.evaluate(overflow) }).toEqual({ path, overflow: 0 });
    }
  });
});

test('every page has a language, a unique title and one heading', async () => {
  await withReader({}, async ({ page, open }) => {
    const titles = new Set<string>();
    for (const path of pages) {
      await open(path);
      titles.add(await page.title());
      const language = await page.locator('html').getAttribute('lang');
      const headings = await page.locator('h1').count();
      expect({ path, language, headings }).toEqual({ path, language: 'en', headings: 1 });
    }
    expect(titles.size).toBe(pages.length);
  });
});

test('working links lead to every page', async () => {
  await withReader({}, async ({ page, open }) => {
    const links = new Set<string>();
    for (const path of pages) {
      await open(path);
      for (const link of await page.locator('a[href]').all()) {
        const { origin, href } = new URL(String(await link.getAttribute('href')), page.url());
        if (origin === url) links.add(href);
      }
    }
    for (const link of links) {
      const [address = ''] = link.split('#');
      const response = await page.request.get(address);
      expect({ link, status: response.status() }).toEqual({ link, status: 200 });
    }
    const paths = [...links].map((link) => new URL(link).pathname);
    expect(pages.filter((path) => !paths.includes(path))).toEqual([]);
  });
});

test('the pages pass the accessibility rules of axe in both colour schemes', async () => {
  const paths = [
    '/docs',
    '/docs/guides/exports',
    '/docs/errors',
    '/docs/errors/invalid_cursor',
    '/docs/search?q=cursor',
    '/docs#retrieveTicket',
  ];
  const named = Object.fromEntries(paths.map((path) => [path.slice(1).replace(/\W+/g, '-'), path]));
  await takePicturesOf(browser, url, named, { prefix: `${picturesFolder}/` });
});

test('a reader reaches the content and the code with the keyboard', async () => {
  await withReader({}, async ({ page, open }) => {
    const focused = () => page.evaluate('document.activeElement.textContent.trim()');
    await open('/docs/guides/paging');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the content');
    const skip = await page.locator('.skip').boundingBox();
    expect(skip?.x).toBeGreaterThanOrEqual(0);
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    for (const next of ['The page', 'Reading a list with curl', 'Copy']) {
      await page.keyboard.press('Tab');
      expect(await focused()).toBe(next);
      expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    }
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.role')).toBe('region');
  });
});
