import { readFileSync } from 'node:fs';
import { Marked, type Token, type Tokens } from 'marked';
import { codeBlock } from '../../../shared/pages/document.ts';
import { html, table, type Html } from '../../../shared/pages/html.ts';
import { clientPackage } from '../config.ts';
import { exampleOrigin } from '../openapi/errors.ts';
import { guides, heading, type Site } from './layout.ts';

const marked = new Marked({
  renderer: {
    // HTML in Markdown is text here, except comments, which mark generated tables.
    html: ({ text }) => (text.startsWith('<!--') ? '' : html`${text}`.html),
    // The words after the language are the label: ```sh Reading a list
    code: ({ text, lang = '' }) => codeBlock(lang.replace(/^\S+ ?/, ''), text).html,
    heading({ depth, text, tokens }) {
      const content = { html: this.parser.parseInline(tokens) };
      return depth === 1 ? `<h1>${content.html}</h1>` : heading(depth, idOf(text), content).html;
    },
    table({ header, rows }) {
      const titles = header.map(({ text }) => text);
      const cells = ({ tokens }: Tokens.TableCell): Html => ({ html: this.parser.parseInline(tokens) });
      return table(
        titles.join(', '),
        titles,
        rows.map((row) => row.map(cells) as [Html, ...Html[]]),
      ).html;
    },
  },
});

/** The id of a heading, as repositories that show Markdown make it. */
const idOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');

const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading';

/** The headings of the second level. */
export const headingsOf = (tokens: Token[]) =>
  tokens.filter(isHeading).flatMap(({ depth, text }) => (depth === 2 ? [{ id: idOf(text), text }] : []));

/** The heading of the first level. */
export const titleOf = (tokens: Token[]): string => tokens.find(isHeading)?.text ?? '';

export const readMarkdown = (site: Site, name: string): Token[] =>
  lexMarkdown(site, readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8'));

/** The tokens of a text, which shows the address of this service, its prefix of keys and the name of its client. */
export const lexMarkdown = ({ apiUrl, settings }: Site, text: string): Token[] =>
  marked.lexer(
    text
      .replaceAll(exampleOrigin, apiUrl)
      .replaceAll('svc_live_', `${settings.keyPrefix}_live_`)
      .replaceAll(clientPackage, settings.clientPackage),
  );

/** Where a link between the files leads on this site. */
const targets: [RegExp, string][] = [
  [/^(?:[./]*errors\.md)?#(\w+)$/, '/docs/errors/$1'],
  [/^[./]*errors\.md$/, '/docs/errors'],
  [new RegExp(`^[./]*(?:guides/)?(${Object.keys(guides).join('|')})\\.md(#[\\w-]+)?$`), '/docs/guides/$1$2'],
  [/^[./]*openapi\.json$/, '/docs'],
];

export function renderMarkdown({ href }: Site, tokens: Token[]): Html {
  void marked.walkTokens(tokens, (token) => {
    if (token.type !== 'link') return;
    const [pattern, path] = targets.find(([each]) => each.test(String(token.href))) ?? [];
    if (!pattern || !path) throw new Error(`docs/ links to ${token.href}, which this site does not serve`);
    token.href = href(String(token.href).replace(pattern, path));
  });
  return { html: marked.parser(tokens) };
}

/** A sentence in Markdown. */
export const inline = (text: string): Html => ({ html: marked.parseInline(text, { async: false }) });
