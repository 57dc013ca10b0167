import { codeBlock } from '../../../shared/pages/document.ts';
import { type Html, html } from '../../../shared/pages/html.ts';
import type { OpenApiDocument } from '../openapi/spec.ts';
import type { Field } from './fields.ts';
import { heading, type Page, type Site } from './layout.ts';
import { headingsOf, renderInline, renderMarkdown } from './markdown.ts';
import { type Group, linkCodes, type OperationContent, referenceContent } from './reference-content.ts';
import { referenceMarkdown } from './reference-markdown.ts';

/**
 * The reference: the introduction of the OpenAPI document and its endpoints, all on one page, for the browser's search.
 */
export function referencePage(site: Site, spec: OpenApiDocument): Page {
  const content = referenceContent(site, spec);
  const { introduction, headers, groups } = content;
  return {
    path: '/docs',
    title: 'API reference',
    description: `Every endpoint with its parameters, the fields of its response, its errors and examples.`,
    markdown: referenceMarkdown(site, spec, content),
    isWide: true,
    body: html`<aside>
        <nav aria-label="Contents">
          <ul>
            ${headingsOf(introduction).map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)}
            <li><a href="#response-headers">Response headers</a></li>
          </ul>
          ${groups.map(groupLinks)}
        </nav>
      </aside>
      <div>
        <h1>${spec.info.title}</h1>
        <p>Version ${spec.info.version}. The address is <code>${site.apiUrl}</code>.</p>
        ${renderMarkdown(site, introduction)} ${heading(2, 'response-headers', html`Response headers`)}
        ${fieldList(headers)}
        ${groups.map(
          ({ id, name, description, operations }) =>
            html`${heading(2, id, html`${name}`)}
              <p>${renderInline(description)}</p>
              ${operations.map((operation) => operationSection(site, operation))}`,
        )}
      </div>`,
  };
}

/** The links to a group and its endpoints in the table of contents. */
function groupLinks({ id, name, operations }: Group): Html {
  const links = operations.map((operation) => {
    return html`<li><a href="#${operation.id}">${operation.summary}</a></li>`;
  });
  return html`<div>
    <a href="#${id}">${name}</a>
    <ul>
      ${links}
    </ul>
  </div>`;
}

function operationSection(
  site: Site,
  { id, path, summary, description, parameters, fields, statuses, samples, example }: OperationContent,
): Html {
  const linkedStatuses = statuses.map((status) => ({
    ...status,
    description: linkCodes(status.description, site.href),
  }));
  return html`<section class="operation" aria-labelledby="${id}">
    <div>
      ${heading(3, id, html`${summary}`)}
      <p><code>GET ${path}</code></p>
      <p>${renderInline(description)}</p>
      ${parameters.length > 0 ? html`<h4>Parameters</h4>` : ''} ${fieldList(parameters)}
      <h4>Fields of the response</h4>
      ${fieldList(fields)}
      <h4>Other statuses</h4>
      ${fieldList(linkedStatuses)}
    </div>
    <div class="samples">
      ${samples.map((codeSample, index) => sampleDetails({ id, summary }, codeSample, index === 0))}
      ${example === null ? '' : codeBlock(`${summary}: response`, example)}
    </div>
  </section>`;
}

/**
 * A collapsible sample. All samples of an operation have the same `name`, so the browser keeps only one of them open.
 */
const sampleDetails = (
  { id, summary }: { id: string; summary: string },
  { label, source }: { label: string; source: string },
  isOpen: boolean,
): Html =>
  html`<details name="${id}-samples" ${isOpen ? html`open` : ''}>
    <summary>${label}</summary>
    ${codeBlock(`${summary}: ${label}`, source)}
  </details>`;

const fieldList = (fields: Field[]): Html =>
  fields.length === 0 ? html`` : html`<dl class="fields">${fields.map(fieldItem)}</dl>`;

function fieldItem({ path, type, description, variant }: Field): Html {
  const condition = variant ? html`, only if ${renderInline(variant)}` : '';
  return html`<dt>
      <code>${path}</code>
      <span>${renderInline(type)}${condition}</span>
    </dt>
    <dd>${renderInline(description)}</dd>`;
}
