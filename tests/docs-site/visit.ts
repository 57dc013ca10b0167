import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

export type Visitor = {
  page: Page;
  /** Opens a path of the service, and waits until it is loaded. */
  open: (path: string) => Promise<void>;
  /** Ends the visit. Expects that the page reported no error, and that no request failed or went to a foreign host. */
  leave: () => Promise<void>;
};

/** Runs `work` in a browser with a fresh profile. */
export async function visit(
  browser: Browser,
  url: string,
  options: BrowserContextOptions,
  work: (reader: Visitor) => Promise<void>,
): Promise<void> {
  const reader = await openVisitor(browser, url, options);
  await work(reader);
  await reader.leave();
}

async function openVisitor(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    viewport: { width: 1280, height: 900 },
    ...options,
  });
  const page = await context.newPage();
  // Console messages, failed requests and violations of the content security policy.
  const faults: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => faults.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('request', (request) => requests.push(request.url()));
  page.on('requestfailed', (request) => {
    // A page aborts its open requests when the reader leaves it.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') faults.push(`failed: ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) faults.push(`${response.status()}: ${response.url()}`);
  });
  await page.exposeFunction('reportViolation', (text: string) => faults.push(`policy: ${text}`));
  await page.addInitScript({ content: reportViolations });
  return {
    page,
    open: async (path) => {
      await page.goto(url + path, { waitUntil: 'load' });
    },
    leave: async () => {
      await context.close();
      expect(faults).toEqual([]);
      const isForeign = (address: string) => new URL(address).origin !== url && !address.startsWith('data:');
      expect(requests.filter(isForeign)).toEqual([]);
      expect(requests.length).toBeGreaterThan(0);
    },
  };
}

const reportViolations = `document.addEventListener('securitypolicyviolation', (violation) =>
  window.reportViolation([violation.violatedDirective, violation.blockedURI, violation.sample].join(' ')))`;

const axe = readFileSync(createRequire(__filename).resolve('axe-core/axe.min.js'), 'utf8');
const violations = `axe.run({ rules: { 'target-size': { enabled: true } } }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html)))`;
/** Evaluates to the number of pixels by which the page is wider than the screen. */
export const overflow = 'document.documentElement.scrollWidth - window.innerWidth';

/**
 * Takes a picture of each path in both colour schemes at two widths. Expects that each page passes the rules of axe,
 * fits the width, and is not higher than `heightMax`.
 */
export async function takePicturesOf(
  browser: Browser,
  url: string,
  paths: Record<string, string>,
  {
    prefix,
    ready = 'html',
    fullPage = false,
    axeWidths = [1280, 390],
    heightMax = Infinity,
  }: { prefix: string; ready?: string; fullPage?: boolean; axeWidths?: number[]; heightMax?: number },
): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      const reader = await openVisitor(browser, url, { colorScheme, viewport: { width, height: 900 } });
      const { page, open } = reader;
      for (const [name, path] of Object.entries(paths)) {
        await open(path);
        await page.locator(ready).waitFor({ state: 'attached' });
        await page.evaluate(axe);
        const pageVariant = { name, colorScheme, width };
        const faults = {
          violations: axeWidths.includes(width) ? await page.evaluate(violations) : [],
          overflow: await page.evaluate(overflow),
          isTooHigh: Number(await page.evaluate('document.body.scrollHeight')) > heightMax,
        };
        expect({ ...pageVariant, ...faults }).toEqual({
          ...pageVariant,
          violations: [],
          overflow: 0,
          isTooHigh: false,
        });
        await page.screenshot({ path: `${prefix}${name}-${width}-${colorScheme}.png`, fullPage });
      }
      await reader.leave();
    }
  }
}
