import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

export type Visitor = {
  page: Page;
  /** Opens a path of the service, and waits until it is loaded. */
  open: (path: string) => Promise<void>;
  /** Console messages, failed requests and violations of the content security policy. */
  faults: string[];
  /** The address of every request. */
  requests: string[];
  close: () => Promise<void>;
};

/** A reader with a fresh browser profile. Records the errors that the browser reports. */
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
