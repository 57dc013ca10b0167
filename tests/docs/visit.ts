import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

export type Visitor = {
  page: Page;
  /** Opens a path of the service, and waits for all that it loads. */
  open: (path: string) => Promise<void>;
  /** What a reader's console or network would show that should not be there. */
  faults: string[];
  /** Address of every request that was made. */
  requests: string[];
  close: () => Promise<void>;
};

/** A reader with a fresh browser profile, and all that the browser complains of to them. */
export async function visitor(
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
  const faults: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => faults.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('request', (request) => requests.push(request.url()));
  page.on('requestfailed', (request) => {
    // A page that is left takes back what it still waits for.
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
      if (/^\/docs\/?(#.*)?$/.test(path))
        await page.locator('html[data-reference=ready]').waitFor({ state: 'attached' });
    },
    faults,
    requests,
    close: () => context.close(),
  };
}

const reportViolations = `document.addEventListener('securitypolicyviolation', (violation) =>
  window.reportViolation([violation.violatedDirective, violation.blockedURI, violation.sample].join(' ')))`;
