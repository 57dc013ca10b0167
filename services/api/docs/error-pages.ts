import { STATUS_CODES } from 'node:http';
import type { Token, Tokens } from 'marked';
import { codeBlock } from '../../../shared/pages/document.ts';
import { html } from '../../../shared/pages/html.ts';
import { errorCatalogue, type ErrorCode } from '../http/error-catalogue.ts';
import { errorCodes } from '../http/error-envelope.ts';
import { errorExample } from '../openapi/errors.ts';
import type { Page, Site } from './layout.ts';
import { fenced, markdownPage, readMarkdown, renderInline, renderMarkdown, toMarkdown } from './markdown.ts';

/** The introduction of docs/errors.md is the list of all codes; each section is the page of its code. */
export function errorPages(site: Site): Page[] {
  const tokens = readMarkdown(site, 'errors.md');
  const introduction: Token[] = [];
  const sections = new Map<string, Token[]>();
  let section = introduction;
  for (const token of tokens) {
    if (isSectionHeading(token)) {
      section = [];
      sections.set(token.text.replaceAll('`', ''), section);
    } else {
      section.push(token);
    }
  }
  return [
    markdownPage(site, { path: '/docs/errors', tokens: introduction }),
    ...errorCodes.map((code) => errorPage(site, code, sections.get(code) ?? [])),
  ];
}

const isSectionHeading = (token: Token): token is Tokens.Heading =>
  token.type === 'heading' && (token as Tokens.Heading).depth === 2;

function errorPage(site: Site, code: ErrorCode, section: Token[]): Page {
  const { status, type, message } = errorCatalogue[code];
  const example = JSON.stringify(errorExample(site.settings.baseUrl, code), null, 2);
  const statusText = `Status ${status} ${STATUS_CODES[status] ?? ''}`;
  const markdown = `# ${code}

${statusText}, type \`${type}\`. ${message}

${toMarkdown(site, section)}

## Example

${fenced('json', example)}

[All errors](${site.markdownHref('/docs/errors')})`;
  return {
    path: `/docs/errors/${code}`,
    title: `${code} (${status})`,
    description: message,
    markdown,
    body: html`<h1><code>${code}</code></h1>
      <p>${statusText}, type <code>${type}</code>. ${renderInline(message)}</p>
      ${renderMarkdown(site, section)}
      <h2>Example</h2>
      ${codeBlock(`Example of ${code}`, example)}
      <p><a href="${site.href('/docs/errors')}">All errors</a></p>`,
  };
}
