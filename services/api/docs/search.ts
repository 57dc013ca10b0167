import { type Html, html } from '../../../shared/pages/html.ts';
import { type Page, searchForm, type Site } from './layout.ts';

/** The maximum length of a query, in characters. The search ignores the rest. */
const queryLengthMax = 100;
const resultsMax = 30;

/** A part of a page, from one heading with an id to the next. */
type Section = {
  href: string;
  title: string;
  text: string;
  /** The title in lower case. */
  lowerTitle: string;
  /** Title and text in lower case. */
  lowerContent: string;
};

/** Counts the words that a text in lower case contains. */
const count = (text: string, words: string[]): number => words.filter((word) => text.includes(word)).length;

/**
 * Returns a search of all pages. Its results are the sections that contain each word of the query. Sections whose
 * heading contains more of the words come first.
 */
export function createSearch(site: Site, pages: Page[]): (query: string) => Html {
  const sections = pages.flatMap((page) => sectionsOf(site, page));
  return (query) => {
    const words = query.slice(0, queryLengthMax).toLowerCase().split(/\s+/).filter(Boolean);
    const hasEachWord = ({ lowerContent }: Section) => count(lowerContent, words) === words.length;
    const found = words.length === 0 ? [] : sections.filter(hasEachWord);
    found.sort((a, b) => count(b.lowerTitle, words) - count(a.lowerTitle, words));
    const results = found.slice(0, resultsMax);
    return html`<h1>Search</h1>
      ${searchForm(site, query)}
      <p role="status">${countText(results.length)}</p>
      ${results.map(
        ({ href, title, text }) => html`<p><a href="${href}">${title}</a><br />${excerpt(text, words)}</p>`,
      )}`;
  };
}

function countText(found: number): string {
  if (found === 0) return 'Nothing found.';
  return found === resultsMax ? `The first ${found} found.` : `${found} found.`;
}

/** The heading at the beginning of a section. The text before the first heading of a page has none. */
const headingShape = /^<(?<tag>h[2-4]) id="(?<id>[^"]+)">(?<content>[^]*?)<\/\k<tag>>/;

const sectionsOf = ({ href }: Site, { path, title, body }: Page): Section[] =>
  body.html.split(/(?=<h[2-4] id=)/).map((part) => {
    const { id, content } = headingShape.exec(part)?.groups ?? {};
    const heading = textOf(content ?? '');
    const sectionTitle = heading && heading !== title ? `${title}: ${heading}` : title;
    const text = textOf(part);
    return {
      href: href(path) + (id ? `#${id}` : ''),
      title: sectionTitle,
      text,
      lowerTitle: sectionTitle.toLowerCase(),
      lowerContent: `${sectionTitle} ${text}`.toLowerCase(),
    };
  });

const entities = { amp: '&', lt: '<', gt: '>', quot: '"' };

/** The text of HTML that this service has rendered. */
const textOf = (part: string): string =>
  part
    .replace(/<[^>]+>/g, ' ')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replace(/&(amp|lt|gt|quot);/g, (_, name: keyof typeof entities) => entities[name])
    .replace(/\s+/g, ' ')
    .trim();

const excerptLength = 200;

/** The part of a text around the first of the words. */
function excerpt(text: string, words: string[]): string {
  const wordAt = Math.max(0, text.toLowerCase().indexOf(words[0] ?? ''));
  const blankBefore = text.lastIndexOf(' ', wordAt - excerptLength / 4);
  const start = blankBefore + 1;
  const blankAfter = text.indexOf(' ', start + excerptLength);
  const isCut = blankAfter >= 0;
  const ellipsis = start > 0 ? '… ' : '';
  return isCut ? `${ellipsis}${text.slice(start, blankAfter)} …` : ellipsis + text.slice(start);
}
