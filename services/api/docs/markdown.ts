import { readFileSync } from 'node:fs';
import { Marked, Renderer, type Token } from 'marked';
import { codeBlock } from '../../../shared/pages/document.ts';
import { html, type Html } from '../../../shared/pages/html.ts';
import { exampleOrigin } from '../openapi/errors.ts';
import type { Site } from './layout.ts';

const marked = new Marked({
  renderer: {
    // HTML in Markdown is text here, except comments, which mark generated tables.
    html: ({ text }) => (text.startsWith('<!--') ? '' : html`${text}`.html),
    // The words after the language are the label: ```sh Reading a list
    code: ({ text, lang = '' }) => codeBlock(lang.replace(/^\S+ ?/, ''), text).html,
    table(token) {
      const plain = new Renderer();
      plain.parser = this.parser;
      const label = token.header.map(({ text }) => text).join(', ');
      return html`<div class="overflow-auto" tabindex="0" role="region" aria-label="${label}">
        ${{ html: plain.table(token) }}
      </div>`.html;
    },
  },
});

/** The tokens of a file of docs/, which shows the address of this service and its prefix of keys. */
export function readMarkdown({ apiUrl, settings }: Site, name: string): Token[] {
  const text = readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')
    .replaceAll(exampleOrigin, apiUrl)
    .replaceAll('svc_live_', `${settings.keyPrefix}_live_`);
  return marked.lexer(text);
}

/** Where a link between the files leads on this site. */
const targets: [RegExp, string][] = [
  [/^(?:[./]*errors\.md)?#(\w+)$/, '/docs/errors/$1'],
  [/^[./]*errors\.md$/, '/docs/errors'],
  [/^[./]*(?:guides\/)?(paging|exports|versioning)\.md$/, '/docs/guides/$1'],
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
