import { STATUS_CODES } from 'node:http';
import type { Token, Tokens } from 'marked';
import { errorCatalogue, type ErrorCode } from '../http/error-catalogue.ts';
import { errorCodes } from '../http/error-envelope.ts';
import { errorExample } from '../openapi/errors.ts';
import type { Page, Site } from './layout.ts';
import { fenced, lexMarkdown, markdownPage, readMarkdown } from './markdown.ts';

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
  const head = `# ${code}

Status ${status} ${STATUS_CODES[status] ?? ''}, type \`${type}\`. ${message}

`;
  const end = `

**Example.**

${fenced(`json Example of ${code}`, example)}

[All errors](errors.md)
`;
  const tokens = [...lexMarkdown(site, head), ...section, ...lexMarkdown(site, end)];
  const page = markdownPage(site, { path: `/docs/errors/${code}`, tokens });
  return { ...page, title: `${code} (${status})`, description: message };
}
