import { startChromium } from '../support/chromium.ts';

/** `node tests/console/picture.ts <url of a console> <file>`: takes the picture of the console that README.md shows. */
const [, , url = '', path = ''] = process.argv;
const browser = await startChromium();
const page = await browser.newPage({ viewport: { width: 900, height: 640 }, colorScheme: 'light' });
await page.goto(url);
await page.locator('html[data-console=ready]').waitFor({ state: 'attached' });
await page.screenshot({ path });
await browser.close();
