import type { Browser } from 'playwright-core';
import { visit, type Visitor } from '../docs-site/visit.ts';
import { startChromium } from '../support/chromium.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { openConsole } from './test-console.ts';

const { environment, publish, applied, stop, cli, topic } = useProjector();
const token = 'a-token-of-thirty-two-characters';
const console = useOpened(() => openConsole(environment.variables));
const withToken = useOpened(() => openConsole({ ...environment.variables, CONSOLE_TOKEN: token }));
let browser: Browser;
// The first run on a machine downloads the browser.
beforeAll(async () => {
  browser = await startChromium();
  await publish(created('contact', 'con_1'), created('ticket', 'ti_1', { tagIds: ['tag_missing'] }));
  await applied();
  await cli('rebuild', 'start');
  await storeDeadLetter(environment, created('tag', 'tag_1'));
  await stop();
  await publish(created('contact', 'con_2'));
});
afterAll(() => browser?.close());

const withOperator = (work: (operator: Visitor) => Promise<void>) => visit(browser, console.url, {}, work);

test('an open page shows new data and keeps the focus', async () => {
  await withOperator(async ({ page, open }) => {
    await open('/lag');
    await page.getByRole('link', { name: topic('contact') }).click();
    await page.getByText(`${topic('contact')}/0`).waitFor();
    await open('/dead-letters');
    const link = page.getByRole('link', { name: `${topic('tag')}/0/1` });
    await link.focus();
    await storeDeadLetter(environment, created('qa', 'qa_1'));
    await page.getByText('2 dead letters, by topic and reason').waitFor();
    const href = await link.getAttribute('href');
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe(href);
  });
});

test('an operator reaches the content, each page and the form with the keyboard', async () => {
  await withOperator(async ({ page, open }) => {
    await open('/explain');
    const focused = () =>
      page.evaluate('document.activeElement.textContent.trim() || document.activeElement.id');
    const reached: unknown[] = [];
    for (let count = 0; count < 8; count += 1) {
      await page.keyboard.press('Tab');
      reached.push(await focused());
    }
    expect(reached).toEqual([
      'Skip to the content',
      ...['Overview', 'Topics', 'Generations', 'Dead letters', 'Explain'],
      ...['id', 'Explain'],
    ]);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.type('ti_1');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'ticket ti_1' }).waitFor();
    expect(await page.locator('.command').last().textContent()).toBe('npx support-cli explain ti_1');
  });
});

test('the browser sends the token with every request after the operator has typed the token', async () => {
  const httpCredentials = { username: 'ann', password: token };
  await visit(browser, withToken.url, { httpCredentials }, async ({ page, open }) => {
    await open('/');
    const refresh = await page.waitForResponse((response) => response.request().resourceType() === 'fetch');
    expect(refresh.status()).toBe(200);
    await page.getByText('Data-As-Of', { exact: true }).waitFor();
  });
});

test('a page that was opened during an outage of MongoDB shows the data once MongoDB answers', async () => {
  const proxy = createStoreProxy(environment.config.MONGODB_URL);
  const port = await proxy.listen();
  await proxy.cut();
  const consoleInOutage = await openConsole({ ...environment.variables, MONGODB_URL: proxiedUrl(port) });
  try {
    await visit(browser, consoleInOutage.url, {}, async ({ page, open }) => {
      await open('/');
      await page.getByText('Unknown: MongoDB (MONGODB_URL)').waitFor();
      await proxy.listen(port);
      await page.getByText('Data-As-Of', { exact: true }).waitFor();
    });
  } finally {
    await consoleInOutage.close();
    await proxy.cut();
  }
});
