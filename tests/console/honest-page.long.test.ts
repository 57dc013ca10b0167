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
const console = useOpened(() => openConsole(environment.variables));
let browser: Browser;
// The first run on a machine downloads the browser.
beforeAll(async () => {
  browser = await startChromium();
});
afterAll(() => browser?.close());

/** How often the server has rendered the page. Each page shows this number in its verdict and in its tiles. */
let renderCount = 0;
/** Answers the requests of the page's script. With null, the server renders the page for them. */
let answerScript: ((route: Route) => Promise<void>) | null = null;

const samples = [60, 40, 20].map((ago, index) => {
  const applied = index * 100;
  return { _id: `1/${index}`, generation: 1, at: before(ago), lagSeconds: 1, applied };
});
const shown: Page = {
  path: '/',
  title: 'Overview',
  regions: async () => ({
    verdict: html`<p class="verdict good">
      All is well, number ${renderCount}. <code class="command">status</code>
    </p>`,
    tiles: html`<p id="tile">Tile ${renderCount}</p>`,
    charts: charts(facts([factsOf(1, 'active')]), samples),
    fresh: freshness({ at: new Date(), problem: null }),
  }),
};

async function withPage(work: (page: BrowserPage) => Promise<void>) {
  renderCount = 0;
  answerScript = null;
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.clock.install();
  await page.route(`${console.url}/`, async (route) => {
    if (answerScript && route.request().resourceType() === 'fetch') return answerScript(route);
    renderCount += 1;
    const body = await renderPage([shown], shown, new URLSearchParams());
    await route.fulfill({ contentType: 'text/html', body });
  });
  await work(page);
  await context.close();
}

const verdict = (page: BrowserPage) => page.locator('#verdict').innerText();
/** Runs the clock of the page until the script has read the page twice. */
const untilRefreshed = async (page: BrowserPage) => {
  const wantedCount = renderCount + 2;
  while (renderCount < wantedCount) {
    await page.clock.runFor(3_000);
    await page.evaluate('new Promise((resolve) => requestIdleCallback(resolve))');
  }
};

test('a page that could not load the chart library shows its charts after the next refresh', async () => {
  await withPage(async (page) => {
    let hasFailed = false;
    await page.route('**/assets/uplot.mjs*', (route) => {
      if (hasFailed) return route.continue();
      hasFailed = true;
      return route.abort();
    });
    await page.goto(`${console.url}/`);
    await page.locator('html[data-console=ready]').waitFor({ state: 'attached' });
    await untilRefreshed(page);
    await page.locator('.plot canvas').first().waitFor();
    expect(await verdict(page)).toContain('All is well');
  });
});

test('a page without answers withdraws its verdict until the console answers again', async () => {
  await withPage(async (page) => {
    await page.goto(`${console.url}/`);
    const silence = Promise.withResolvers<void>();
    answerScript = (route) => silence.promise.then(() => route.abort());
    await page.clock.runFor(16_500);
    await page.getByText(/^Not read for 1[67] s\.$/).waitFor();
    expect(await verdict(page)).toBe('Unknown: this page was not read for more than 15 s.');
    silence.resolve();
    await page.getByText('The console does not answer.').waitFor();
    answerScript = null;
    await untilRefreshed(page);
    await page.getByText('All is well').waitFor();
    await page.getByText('Not read for').waitFor({ state: 'detached' });
    expect(await page.locator('#lost').isVisible()).toBe(false);
  });
});

test('a selected text pauses only the part of the page that contains the text', async () => {
  await withPage(async (page) => {
    await page.goto(`${console.url}/`);
    for (const selected of ['#tile', 'body']) {
      const tile = await page.locator('#tile').innerText();
      await page.evaluate(`getSelection().selectAllChildren(document.querySelector('${selected}'))`);
      await untilRefreshed(page);
      await page.getByText(`number ${renderCount}`).waitFor();
      await page.getByText('Paused where text is selected.').waitFor();
      expect(await page.locator('#tile').innerText()).toBe(tile);
      await page.evaluate('getSelection().removeAllRanges()');
      await untilRefreshed(page);
      await page.getByText(`Tile ${renderCount}`).waitFor();
      expect(await page.getByText('Paused').isVisible()).toBe(false);
    }
    await page.locator('#verdict .command').click();
    await untilRefreshed(page);
    await page.getByText(`number ${renderCount}`).waitFor();
    expect(await page.evaluate('getSelection().toString()')).toBe('status');
  });
});

const respondText = (status: number, body: string) => (route: Route) =>
  route.fulfill({ status, body, contentType: 'text/plain; charset=utf-8' });

test.each<[cause: string, (route: Route) => Promise<void>]>([
  ['The console needs its token again: load the page.', respondText(401, 'The console needs its token.')],
  [
    'The console, or a proxy in front of it, answers 421: Unknown host name',
    respondText(421, 'Unknown host name'),
  ],
  [
    'The console, or a proxy in front of it, answers 502: Bad Gateway',
    (route) => route.fulfill({ status: 502, body: '<h1>Oops</h1>', contentType: 'text/html' }),
  ],
  ['The console does not answer.', (route) => route.abort()],
])('a page that the script cannot refresh shows the cause "%s"', async (cause, answer) => {
  await withPage(async (page) => {
    await page.goto(`${console.url}/`);
    answerScript = answer;
    await page.clock.runFor(4_000);
    await page.getByText(cause).waitFor();
    await page.getByText('This is the last data that it sent.').waitFor();
  });
});

test('a page reloads if a proxy redirects its refresh to a login', async () => {
  await withPage(async (page) => {
    await page.goto(`${console.url}/`);
    answerScript = (route) => route.fulfill({ status: 302, headers: { location: '/login' } });
    const loaded = page.waitForEvent('load');
    await page.clock.runFor(4_000);
    await loaded;
  });
});
