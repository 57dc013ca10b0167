import { readFileSync } from 'node:fs';
import { Marked, type Token, type Tokens } from 'marked';
import { codeBlock } from '../../../shared/pages/document.ts';
import { type Html, html, table } from '../../../shared/pages/html.ts';
import { clientPackage } from '../config.ts';
import { exampleOrigin } from '../openapi/errors.ts';
import { guides, heading, type Page, type Site } from './layout.ts';

const marked = new Marked({
  renderer: {
    // HTML in Markdown is text here, except comments, which mark generated tables.
    html: ({ text }) => (text.startsWith('<!--') ? '' : html`${text}`.html),
    // The words after the language are the label: ```sh Reading a list
    code: ({ text, lang = '' }) => codeBlock(lang.replace(/^\S+ ?/, ''), text).html,
    heading({ depth, text, tokens }) {
      const content = { html: this.parser.parseInline(tokens) };
      return depth === 1 ? `<h1>${content.html}</h1>` : heading(depth, headingIdOf(text), content).html;
    },
    table({ header, rows }) {
      const titles = header.map(({ text }) => text);
      const renderCell = ({ tokens }: Tokens.TableCell): Html => ({ html: this.parser.parseInline(tokens) });
      return table(
        titles.join(', '),
        titles,
        rows.map((row) => row.map(renderCell) as [Html, ...Html[]]),
      ).html;
    },
  },
});

/** The id of a heading. Hosts of repositories derive the same id, so links in docs/ work on both. */
const headingIdOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');

const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading';

/** The headings of the second level. */
export const headingsOf = (tokens: Token[]) =>
  tokens
    .filter(isHeading)
    .filter(({ depth }) => depth === 2)
    .map(({ text }) => ({ id: headingIdOf(text), text }));

/** The text of the first heading. */
const titleOf = (tokens: Token[]): string => tokens.find(isHeading)?.text ?? '';

/** The tokens of a file of docs/. Links within the file get its name, because its sections may become several pages. */
export function readMarkdown(site: Site, name: string): Token[] {
  const text = readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
  return lexMarkdown(site, text.replaceAll('](#', `](${name}#`));
}

/** The tokens of a text, with the address, the key prefix and the client of this service in place of the examples. */
export const lexMarkdown = ({ apiUrl, settings }: Site, text: string): Token[] =>
  marked.lexer(
    text
      .replaceAll(exampleOrigin, apiUrl)
      .replaceAll('svc_live_', `${settings.keyPrefix}_live_`)
      .replaceAll(clientPackage, settings.clientPackage),
  );

/** The path on this site for each link in docs/: `/docs/errors/invalid_api_key` for `../errors.md#key_blocked`. */
const linkTargets: [RegExp, string][] = [
  [/^[./]*errors\.md#(\w+)$/, '/docs/errors/$1'],
  [/^[./]*errors\.md$/, '/docs/errors'],
  [new RegExp(`^[./]*(?:guides/)?(${Object.keys(guides).join('|')})\\.md(#[\\w-]+)?$`), '/docs/guides/$1$2'],
  [/^[./]*openapi\.json$/, '/docs'],
];

function sitePathOf(link: string): string {
  const [pattern, path] = linkTargets.find(([target]) => target.test(link)) ?? [];
  if (!pattern || !path) throw new Error(`docs/ links to ${link}, which this site does not serve`);
  return link.replace(pattern, path);
}

/** Renders tokens as HTML. Changes the links of the tokens, so that they lead to the pages of this site. */
export function renderMarkdown({ href }: Site, tokens: Token[]): Html {
  void marked.walkTokens(tokens, (token) => {
    if (token.type === 'link') token.href = href(sitePathOf(String(token.href)));
  });
  return { html: marked.parser(tokens) };
}

/**
 * The tokens in Markdown, without comments. Links lead to the Markdown of pages. Call this function before
 * `renderMarkdown`, which changes the links of the tokens.
 */
export const toMarkdown = ({ markdownHref }: Site, tokens: Token[]): string =>
  tokens
    .filter(({ type }) => type !== 'html')
    .map(({ type, raw }) => (type === 'code' ? raw : replaceLinks(raw, markdownHref)))
    .join('')
    .replace(/\n{3,}/g, '\n\n')
    .trim();

/** Replaces the target of every link, as in `[Errors](errors.md)`, by a link to the page of this site. */
const replaceLinks = (markdown: string, href: Site['href']): string =>
  markdown.replace(/\]\(([^)]+)\)/g, (_, link: string) => `](${href(sitePathOf(link))})`);

/** A block of code in Markdown. */
export const fenced = (language: string, code: string): string => `\`\`\`${language}\n${code.trim()}\n\`\`\``;

/** The first sentence of the first paragraph. */
function firstSentence(tokens: Token[]): string {
  const [paragraph] = tokens.filter(({ type }) => type === 'paragraph');
  const text = (paragraph?.raw ?? '').replace(/\s+/g, ' ').trim();
  // A full stop inside a word, as in `errors.md`, does not end the sentence.
  return /^.*?\.(?= |$)/.exec(text)?.[0] ?? text;
}

/** Creates a page from the tokens of a text. */
export const markdownPage = (site: Site, { path, tokens }: { path: string; tokens: Token[] }): Page => ({
  path,
  title: titleOf(tokens),
  description: firstSentence(tokens),
  // First the Markdown, because `renderMarkdown` changes the links of the tokens.
  markdown: toMarkdown(site, tokens),
  body: renderMarkdown(site, tokens),
});

/** Renders a sentence in Markdown as HTML. */
export const renderInline = (text: string): Html => ({ html: marked.parseInline(text, { async: false }) });
