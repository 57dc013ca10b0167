import { pageDocument } from '../../shared/pages/document.ts';
import { html, type Html } from '../../shared/pages/html.ts';
import type { Known } from './readings.ts';

/** The parts of a page that change, by the id of their element. */
export type Regions = Record<string, Html>;

/** A page of the console. */
export type Page = {
  path: string;
  /** The heading, and the name in the navigation. */
  title: string;
  /** Content that does not change by itself, such as a form; `query` is that of the URL. */
  fixed?: (query: URLSearchParams) => Promise<Html> | Html;
  /** The content that changes, read again while a client watches. */
  regions?: () => Promise<Regions>;
};

/** The complete HTML of a page. Without JavaScript the browser loads it again every ten seconds. */
export async function renderPage(pages: Page[], page: Page, query: URLSearchParams): Promise<string> {
  const regions = Object.entries((await page.regions?.()) ?? {});
  const isLive = regions.length > 0;
  return pageDocument({
    title: page.title,
    site: 'Read model console',
    icon: '/assets/icon.svg',
    stylesheets: ['/assets/pico.css', '/assets/site.css', '/assets/console.css'],
    navigation: {
      label: 'Console',
      links: pages.map(({ path, title }) => ({
        href: path,
        name: title,
        current: path === page.path ? 'page' : null,
      })),
    },
    head: isLive
      ? html`<script src="/assets/console.mjs" type="module"></script>
          <noscript><meta http-equiv="refresh" content="10" /></noscript>`
      : html``,
    body: html`<h1>${page.title}</h1>
      ${isLive ? html`<p id="lost" class="finding" role="alert" hidden></p>` : html``}
      ${(await page.fixed?.(query)) ?? html``}
      ${regions.map(([id, content]) => html`<div id="${id}" data-live ${role(id)}>${content}</div>`)}`,
    footer: html`The console changes nothing. To change something, run the commands that it shows.`,
  });
}

/** A screen reader reads a changed verdict aloud. The other regions change too often for that. */
const role = (id: string): Html => (id === 'verdict' ? html` role="status"` : html``);

/** When the shown data was read, and why there is no newer data. `readings` are those that the page shows. */
export function freshness(...readings: Known<unknown>[]): Html {
  const times = readings.flatMap(({ at }) => (at ? [at.getTime()] : []));
  const read = times.length > 0 ? new Date(Math.min(...times)).toISOString() : null;
  const problems = [...new Set(readings.flatMap(({ problem }) => problem ?? []))];
  const age = read ? Math.round((Date.now() - Date.parse(read)) / 1_000) : null;
  return html`${problems.map((problem) => html`<p class="finding bad">No newer data: ${problem}</p>`)}
    <p class="muted">
      ${read ? html`Read at <time>${read}</time>${problems.length > 0 ? `, ${age} s ago` : ''}.` : 'Nothing was read yet.'}
    </p>`;
}

/** Data that is older than this, in seconds, says nothing of the present. */
const staleAfterSeconds = 15;

/** Says since when nothing is known, if one of the readings fails and is old; null if they show the present. */
export function staleness(...readings: Known<unknown>[]): Html | null {
  const [oldest] = readings
    .filter(({ at, problem }) => problem && at && Date.now() - at.getTime() > staleAfterSeconds * 1_000)
    .map(({ at }) => at?.toISOString() ?? '')
    .toSorted();
  return oldest === undefined
    ? null
    : html`<p class="verdict bad">It is not known: no data since <time>${oldest}</time>.</p>`;
}

/** A command to copy. */
export const command = (text: string): Html => html`<code class="command">${text}</code>`;

/** Names with their values. */
export const definitions = (rows: [string, Html | string][]): Html =>
  html`<dl>
    ${rows.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;

/** `unknown` for null. */
export const seconds = (value: number | null): string =>
  value === null ? 'unknown' : `${Math.round(value)} s`;
