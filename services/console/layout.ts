import { parseInstant, recordTimeText } from '../../shared/documents/instant.ts';
import { pageDocument } from '../../shared/pages/document.ts';
import { type Html, html } from '../../shared/pages/html.ts';
import { digits } from '../../shared/runtime/counted.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import type { LastReading } from './readings.ts';

/** The parts of a page that the script replaces; the keys are the ids of their elements. */
type Regions = Record<string, Html>;

export type Page = {
  path: string;
  /** The heading, and the name in the navigation. */
  title: string;
  /** Content that stays while the page is open, such as a form. `query` is the query of the URL. */
  fixed?: (query: URLSearchParams) => Promise<Html> | Html;
  /** Content that the script reads again while the page is open; the region `fresh` has its age. */
  regions?: (query: URLSearchParams) => Promise<Regions>;
};

/** The complete HTML of a page. Without JavaScript the browser loads it again every ten seconds. */
export async function renderPage(pages: Page[], page: Page, query: URLSearchParams): Promise<string> {
  const { fresh, ...regions } = (await page.regions?.(query)) ?? {};
  return pageDocument({
    title: page.title,
    siteName: 'Read model console',
    icon: '/assets/icon.svg',
    stylesheets: ['/assets/pico.css', '/assets/uplot.css', '/assets/site.css', '/assets/console.css'],
    navigation: {
      label: 'Console',
      links: pages.map((linked) => ({
        href: linked.path,
        name: linked.title,
        current: linked === page ? 'page' : null,
      })),
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

/** Shows when the console read the data, and why it has no newer data. */
export const freshness = ({ at, problem }: Omit<LastReading<unknown>, 'value'>): Html =>
  html`${problem === null ? '' : html`<p class="finding bad">No newer data: ${problem}</p>`}
    <p class="muted">${at ? html`Read ${ago(at)}, ${timeOfDay(at)}.` : 'Nothing was read yet.'}</p>`;

/**
 * Content that a page reads once, with the time of its read, or the reason why it is missing: an operator may have
 * edited a stored document so that no page can show it. If the content comes later than the page could wait, the script
 * loads the page again.
 */
export function contentOf<T>(
  { value, at, problem, isLate }: LastReading<T>,
  render: (value: T) => Html,
): Html {
  if (value === null || at === null || problem !== null)
    return html`<p class="finding bad" ${isLate ? html`data-again` : ''}>
      ${problem ?? ''}${isLate ? '. It is still asked: load this page again.' : ''}
    </p>`;
  try {
    return html`${render(value)}
      <p class="muted">Read ${timeOfDay(at)}.</p>`;
  } catch (error) {
    return html`<p class="finding bad">${errorMessage(error)}</p>`;
  }
}

/** The time of day. Without the script of the page, a shown age would not grow, but a time stays true. */
const timeOfDay = (at: Date): string => `at ${at.toISOString().slice(11, 19)} UTC`;

/** Data that is older than this, in seconds, does not show the present state. */
const staleAfterSeconds = 15;

/** The verdict while readings fail: the state is unknown since the last reading. Null while the reading is current. */
export const staleVerdict = ({ at, problem }: LastReading<unknown>): Html | null =>
  problem !== null && at && secondsSince(at, new Date()) > staleAfterSeconds
    ? html`<p class="verdict bad">Unknown: the last data was read ${ago(at)}.</p>`
    : null;

/** A text in which a long id may break into lines after each separator. */
export const breakable = (text: string): Html =>
  html`${text.split(/(?<=[/@])/).map((part, index) => html`${index > 0 ? html`<wbr />` : ''}${part}`)}`;

/** A command to copy. Without JavaScript a click selects it. */
export const commandToCopy = (text: string): Html =>
  html`<span class="copied"
    ><code class="command">${breakable(text)}</code
    ><button type="button" class="secondary outline" data-copy="${text}" aria-label="Copy: ${text}"></button
  ></span>`;

/** A list of names with their values. `state` and `style` are CSS classes. */
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

/** A number with thousands separators, aligned to the right of its cell; `unknown` for null. */
export const numberCell = (value: number | null): Html =>
  html`<span class="number">${value === null ? 'unknown' : digits(value)}</span>`;

/** A duration in seconds, formatted as by `number`. */
export const secondsCell = (value: number | null): Html =>
  html`<span class="number">${value === null ? 'unknown' : `${digits(value)} s`}</span>`;

const units: [string, number][] = [
  ['days', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** A duration in the largest unit that fits into it at least twice: `23 min`, but `90 s`. */
export function duration(inSeconds: number): string {
  const [unit, unitSeconds] = units.find(([, size]) => inSeconds >= 2 * size) ?? ['s', 1];
  return `${Math.round(inSeconds / unitSeconds)} ${unit}`;
}

/** A text about an instant, such as its age. The browser shows the instant if the pointer is on the text. */
const timeElement = (at: Date, text: string): Html => html`<time title="${at.toISOString()}">${text}</time>`;

const secondsSince = (at: Date, now: Date) => Math.round((now.getTime() - at.getTime()) / 1_000);

/** The time since an instant, or the time until it: `6 s ago`, `in 2 min`. */
export function ago(at: Date, now = new Date()): Html {
  const age = secondsSince(at, now);
  // The clocks of two machines may differ by some seconds.
  return timeElement(at, age < -60 ? `in ${duration(-age)}` : `${duration(Math.max(0, age))} ago`);
}

/** The age of a record; `time` is ISO 8601, or null for a record without a valid time. */
export const timeOf = (time: string | null): Html =>
  time === null ? html`${recordTimeText(time)}` : ago(new Date(time));

/** Matches an instant that is a word of its own, not a part of an id. */
const instants =
  /(?<![^\s(])(?:(?<before>at|since) )?(?<instant>\d{4}-\d\d-\d\dT[\d:.]+Z)(?![\w-])(?: \(-?\d+ s ago\))?(?<orBefore> or before)?/g;

/**
 * Replaces the instants in a text by their ages: `at <instant>` becomes `6 s ago`, and `since <instant>` becomes `for
 * 6 s`. An age in parentheses behind an instant is left out.
 */
export function withAges(text: string): Html {
  const shown: Html[] = [];
  let end = 0;
  for (const { 0: match, index, groups = {} } of text.matchAll(instants)) {
    const { before, instant = '', orBefore } = groups;
    const at = parseInstant(instant);
    // Text of an operator or of a record may look like an instant, such as the 31st of November.
    if (at === null) continue;
    shown.push(html`${text.slice(end, index)}`);
    end = index + match.length;
    if (before !== 'since') {
      shown.push(ago(at));
      continue;
    }
    const elapsed = duration(Math.max(0, secondsSince(at, new Date())));
    shown.push(html`for ${timeElement(at, elapsed)}${orBefore ? ' or longer' : ''}`);
  }
  return html`${shown}${text.slice(end)}`;
}
