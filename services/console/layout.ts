import { parseInstant, recordTimeText } from '../../shared/documents/instant.ts';
import { pageDocument } from '../../shared/pages/document.ts';
import { type Html, html } from '../../shared/pages/html.ts';
import { digits } from '../../shared/runtime/counted.ts';
import type { Known } from './readings.ts';

/** The parts of a page that change, by the id of their element. */
type Regions = Record<string, Html>;

export type Page = {
  path: string;
  /** The heading, and the name in the navigation. */
  title: string;
  /** Content that does not change by itself, such as a form; `query` is that of the URL. */
  fixed?: (query: URLSearchParams) => Promise<Html> | Html;
  /** The content that changes, read again while a client has the page open; `fresh` gives its age. */
  regions?: (query: URLSearchParams) => Promise<Regions>;
};

/** The complete HTML of a page. Without JavaScript the browser loads it again every ten seconds. */
export async function renderPage(pages: Page[], page: Page, query: URLSearchParams): Promise<string> {
  const { fresh, ...regions } = (await page.regions?.(query)) ?? {};
  return pageDocument({
    title: page.title,
    site: 'Read model console',
    icon: '/assets/icon.svg',
    stylesheets: ['/assets/pico.css', '/assets/uplot.css', '/assets/site.css', '/assets/console.css'],
    navigation: {
      label: 'Console',
      links: pages.map((one) => ({ href: one.path, name: one.title, current: one === page ? 'page' : null })),
    },
    head: html`<script src="/assets/console.mjs" type="module"></script>
      ${fresh ? html`<noscript><meta http-equiv="refresh" content="10" /></noscript>` : ''}`,
    body: html`<h1>${page.title}</h1>
      ${fresh ? html`<p id="lost" class="finding bad" role="alert" hidden></p>` : ''}
      ${fresh ? region('fresh', fresh) : ''}
      ${fresh ? html`<p id="paused" class="muted" hidden>Paused where text is selected.</p>` : ''}
      ${(await page.fixed?.(query)) ?? ''}
      ${Object.entries(regions).map(([id, content]) => region(id, content))}`,
    footer: html`The console changes nothing. To change something, run the commands that it shows.`,
  });
}

const region = (id: string, content: Html): Html =>
  // A screen reader reads a changed verdict aloud. The other regions change too often for that.
  html`<div id="${id}" data-live ${id === 'verdict' ? html`role="status"` : ''}>${content}</div>`;

/** When the console read the shown data, and why it has no newer data. */
export const freshness = ({ at, problem }: Omit<Known<unknown>, 'value'>): Html =>
  html`${problem === null ? '' : html`<p class="finding bad">No newer data: ${problem}</p>`}
    <p class="muted">${at ? html`Read ${ago(at)}, ${timeOfDay(at)}.` : 'Nothing was read yet.'}</p>`;

/** The time of day: an age stands still if the browser does not run the script, a time does not mislead then. */
export const timeOfDay = (at: Date): string => `at ${at.toISOString().slice(11, 19)} UTC`;

/** Data that is older than this, in seconds, does not show the present state. */
const staleAfterSeconds = 15;

/** If readings fail, says since when the state is unknown; null while the reading is current. */
export const staleness = ({ at, problem }: Known<unknown>): Html | null =>
  problem !== null && at && secondsSince(at, new Date()) > staleAfterSeconds
    ? html`<p class="verdict bad">Unknown: the last data was read ${ago(at)}.</p>`
    : null;

/** A text with ids of records, which may break after their separators. */
export const breakable = (text: string): Html =>
  html`${text.split(/(?<=[/@])/).map((part, index) => html`${index > 0 ? html`<wbr />` : ''}${part}`)}`;

/** A command to copy. Without JavaScript a click selects it. */
export const command = (text: string): Html =>
  html`<span class="copied"
    ><code class="command">${breakable(text)}</code
    ><button type="button" class="secondary outline" data-copy="${text}" aria-label="Copy: ${text}"></button
  ></span>`;

/** Names with their values; `state` is a class. */
export const definitions = (rows: [name: string, value: Html | string, state?: string][], style = ''): Html =>
  html`<dl class="${style}">
    ${rows.map(
      ([name, value, state = '']) =>
        html`<div class="${state}">
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;

/** A number with thousands separators, which a cell of a table shows at its right; `unknown` for null. */
export const number = (value: number | null): Html =>
  html`<span class="number">${value === null ? 'unknown' : digits(value)}</span>`;

/** A duration, as `number`. */
export const seconds = (value: number | null): Html =>
  html`<span class="number">${value === null ? 'unknown' : `${digits(value)} s`}</span>`;

const units: [string, number][] = [
  ['days', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** A duration in the largest unit of which there are two: `23 min`. */
export function duration(inSeconds: number): string {
  const [unit, size] = units.find(([, least]) => inSeconds >= 2 * least) ?? ['s', 1];
  return `${Math.round(inSeconds / size)} ${unit}`;
}

/** A time relative to now, with the instant as its title. */
const relative = (at: Date, text: string): Html => html`<time title="${at.toISOString()}">${text}</time>`;

const secondsSince = (at: Date, now: Date) => Math.round((now.getTime() - at.getTime()) / 1_000);

/** How long ago an instant was, or in how long it will be: `6 s ago`. */
export function ago(at: Date, now = new Date()): Html {
  const age = secondsSince(at, now);
  // The clocks of two machines may differ by some seconds.
  return relative(at, age < -60 ? `in ${duration(-age)}` : `${duration(Math.max(0, age))} ago`);
}

/** The time of a record, as by `ago`. */
export const timeOf = (time: string | null): Html =>
  time === null ? html`${recordTimeText(time)}` : ago(new Date(time));

/** An instant as a separate word. Inside an id, for example, it belongs to a name. */
const instants =
  /(?<![^\s(])(?:(?<before>at|since) )?(?<instant>\d{4}-\d\d-\d\dT[\d:.]+Z)(?![\w-])(?: \(-?\d+ s ago\))?(?<orBefore> or before)?/g;

/**
 * A text with its instants as by `ago`, without `at` before and without an age behind; `since` an instant is `for 6 s`.
 */
export function withAges(text: string): Html {
  const shown: Html[] = [];
  let end = 0;
  for (const { 0: whole, index, groups = {} } of text.matchAll(instants)) {
    const { before, instant = '', orBefore } = groups;
    const at = parseInstant(instant);
    // Text of an operator or of a record may look like an instant, such as the 31st of November.
    if (at === null) continue;
    shown.push(html`${text.slice(end, index)}`);
    end = index + whole.length;
    if (before !== 'since') {
      shown.push(ago(at));
      continue;
    }
    const past = duration(Math.max(0, secondsSince(at, new Date())));
    shown.push(html`for ${relative(at, past)}${orBefore ? ' or longer' : ''}`);
  }
  return html`${shown}${text.slice(end)}`;
}
