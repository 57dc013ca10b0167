import type { Browser, Page as BrowserPage, Route } from 'playwright-core';
import { freshness, type Page, renderPage } from '../../services/console/layout.ts';
import { charts } from '../../services/console/pages/charts.ts';
import { html } from '../../shared/pages/html.ts';
import { startChromium } from '../support/chromium.ts';
import { before, facts, factsOf } from '../support/facts.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';
import { openConsole } from './test-console.ts';

const environment = useOpened(() => createTestEnvironment(1));
const console = useOpened(() => openConsole(environment.environment));
let browser: Browser;
// The first run on a machine downloads the browser.
beforeAll(async () => (browser = await startChromium()));
afterAll(() => browser?.close());

/** How often the server has rendered the page. Each page shows this number in its verdict and in its tiles. */
let rendered = 0;
/** Answers a request of the script in place of the page. */
let instead: ((route: Route) => Promise<void>) | null = null;

const samples = [60, 40, 20].map((ago, index) => {
  const applied = index * 100;
  return { _id: `1/${index}`, generation: 1, at: before(ago), lagSeconds: 1, applied };
});
const shown: Page = {
  path: '/',
  title: 'Overview',
  regions: async () => ({
    verdict: html`<p class="verdict good">
      All is well, number ${rendered}. <code class="command">status</code>
    </p>`,
    tiles: html`<p id="tile">Tile ${rendered}</p>`,
    charts: charts(facts([factsOf(1, 'active')]), samples),
    fresh: freshness({ at: new Date(), problem: null }),
  }),
};

async function withPage(work: (page: BrowserPage) => Promise<void>) {
  rendered = 0;
  instead = null;
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.clock.install();
  await page.route(`${console.url}/`, async (route) => {
    if (instead && route.request().resourceType() === 'fetch') return instead(route);
    rendered += 1;
    const body = await renderPage([shown], shown, new URLSearchParams());
    await route.fulfill({ contentType: 'text/html', body });
  });
  await work(page);
  await context.close();
}

const verdict = (page: BrowserPage) => page.locator('#verdict').innerText();
const refreshed = async (page: BrowserPage, times = 2) => {
  const wanted = rendered + times;
  while (rendered < wanted) {
    await page.clock.runFor(3_000);
    await page.evaluate('new Promise((resolve) => requestIdleCallback(resolve))');
  }
};

test('a chart library that fails to load once stops no reading, and the charts come with the next one', async () => {
  await withPage(async (page) => {
    let loads = 0;
    await page.route('**/assets/uplot.mjs*', (route) => (++loads === 1 ? route.abort() : route.continue()));
    await page.goto(`${console.url}/`);
    await page.locator('html[data-console=ready]').waitFor({ state: 'attached' });
    await refreshed(page);
    await page.locator('.plot canvas').first().waitFor();
    expect(await verdict(page)).toContain('All is well');
  });
});

test('a page that is not read says for how long, withdraws its verdict, and is well once it is read', async () => {
  await withPage(async (page) => {
    await page.goto(`${console.url}/`);
    const silence = Promise.withResolvers<void>();
    instead = (route) => silence.promise.then(() => route.abort());
    await page.clock.runFor(16_500);
    await page.getByText(/^Not read for 1[67] s\.$/).waitFor();
    expect(await verdict(page)).toBe('Unknown: this page was not read for more than 15 s.');
    silence.resolve();
    await page.getByText('The console does not answer.').waitFor();
    instead = null;
    await refreshed(page);
    await page.getByText('All is well').waitFor();
    await page.getByText('Not read for').waitFor({ state: 'detached' });
    expect(await page.locator('#lost').isVisible()).toBe(false);
  });
});

test('a selected text holds back its own part, which the page says, and never the verdict', async () => {
  await withPage(async (page) => {
    await page.goto(`${console.url}/`);
    for (const selected of ['#tile', 'body']) {
      const tile = await page.locator('#tile').innerText();
      await page.evaluate(`getSelection().selectAllChildren(document.querySelector('${selected}'))`);
      await refreshed(page);
      await page.getByText(`number ${rendered}`).waitFor();
      await page.getByText('Paused where text is selected.').waitFor();
      expect(await page.locator('#tile').innerText()).toBe(tile);
      await page.evaluate('getSelection().removeAllRanges()');
      await refreshed(page);
      await page.getByText(`Tile ${rendered}`).waitFor();
      expect(await page.getByText('Paused').isVisible()).toBe(false);
    }
    await page.locator('#verdict .command').click();
    await refreshed(page);
    await page.getByText(`number ${rendered}`).waitFor();
    expect(await page.evaluate('getSelection().toString()')).toBe('status');
  });
});

const text = (status: number, body: string) => (route: Route) =>
  route.fulfill({ status, body, contentType: 'text/plain; charset=utf-8' });

test.each<[cause: string, (route: Route) => Promise<void>]>([
  ['The console needs its token again: load the page.', text(401, 'The console needs its token.')],
  ['The console, or a proxy in front of it, answers 421: Unknown host name', text(421, 'Unknown host name')],
  [
    'The console, or a proxy in front of it, answers 502: Bad Gateway',
    (route) => route.fulfill({ status: 502, body: '<h1>Oops</h1>', contentType: 'text/html' }),
  ],
  ['The console does not answer.', (route) => route.abort()],
])('a page that cannot be read names the cause: %s', async (cause, answer) => {
  await withPage(async (page) => {
    await page.goto(`${console.url}/`);
    instead = answer;
    await page.clock.runFor(4_000);
    await page.getByText(`${cause}`).waitFor();
    await page.getByText('This is the last data that it sent.').waitFor();
  });
});

test('a page whose reading a proxy sends to its login is loaded again, so that the operator sees the login', async () => {
  await withPage(async (page) => {
    await page.goto(`${console.url}/`);
    instead = (route) => route.fulfill({ status: 302, headers: { location: '/login' } });
    const loaded = page.waitForEvent('load');
    await page.clock.runFor(4_000);
    await loaded;
  });
});
