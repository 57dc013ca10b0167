import { codeBlock } from '../../../shared/pages/document.ts';
import { html, type Html } from '../../../shared/pages/html.ts';
import { errorCodes } from '../http/error-envelope.ts';
import type { JsonSchema } from '../openapi/json-schema.ts';
import type { OpenApiDocument } from '../openapi/spec.ts';
import type { Operation, Parameter, Response } from '../openapi/types.ts';
import { fieldsOf, resolve, typeOf, type Field } from './fields.ts';
import { heading, type Page, type Site } from './layout.ts';
import { headingsOf, inline, lexMarkdown, renderMarkdown } from './markdown.ts';

type Described = { path: string; operation: Operation };

/**
 * The reference: the introduction of the OpenAPI document and its endpoints, all on one page, for the browser's search.
 */
export function referencePage(site: Site, spec: OpenApiDocument): Page {
  const introduction = lexMarkdown(site, spec.info.description);
  const groups = spec.tags.map((tag) => ({
    ...tag,
    id: tag.name.toLowerCase(),
    operations: operationsOf(spec, tag.name),
  }));
  return {
    path: '/docs',
    title: 'Reference',
    isWide: true,
    body: html`<aside>
        <nav aria-label="Contents">
          <ul>
            ${headingsOf(introduction).map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)}
            <li><a href="#response-headers">Response headers</a></li>
          </ul>
          ${groups.map(
            ({ id, name, operations }) =>
              html`<a href="#${id}">${name}</a>
                <ul>
                  ${operations.map(
                    ({ operation }) =>
                      html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`,
                  )}
                </ul>`,
          )}
        </nav>
      </aside>
      <div>
        <h1>${spec.info.title}</h1>
        <p>Version ${spec.info.version}. The address is <code>${site.apiUrl}</code>.</p>
        ${renderMarkdown(site, introduction)} ${headersSection(spec)}
        ${groups.map(
          ({ id, name, description, operations }) =>
            html`${heading(2, id, html`${name}`)}
              <p>${inline(description)}</p>
              ${operations.map((described) => operationSection(site, spec, described))}`,
        )}
      </div>`,
  };
}

const operationsOf = ({ paths }: OpenApiDocument, tag: string): Described[] =>
  Object.entries(paths).flatMap(([path, { get }]) =>
    get.tags.includes(tag) ? [{ path, operation: get }] : [],
  );

/** The headers of the responses of the first endpoint, which all endpoints below `/v1` have. */
function headersSection(spec: OpenApiDocument): Html {
  const [first] = Object.values(spec.paths);
  const responses = Object.values(first?.get.responses ?? {}).map((response) =>
    resolve<Response>(spec, response),
  );
  const headers = new Map(responses.flatMap((response) => Object.entries(response.headers)));
  return html`${heading(2, 'response-headers', html`Response headers`)}
  ${fieldList(
    [...headers].map(([path, header]) => {
      const { description, schema } = resolve<{ description: string; schema: JsonSchema }>(spec, header);
      return { path, type: typeOf(spec, schema), description };
    }),
  )}`;
}

function operationSection(site: Site, spec: OpenApiDocument, { path, operation }: Described): Html {
  const { operationId, summary, description, responses, 'x-codeSamples': samples = [] } = operation;
  const parameters = operation.parameters.map((each) => resolve<Parameter>(spec, each));
  const success = resolve<Response>(spec, responses[200] ?? { description: '', headers: {} }).content?.[
    'application/json'
  ];
  return html`<section class="operation" aria-labelledby="${operationId}">
    <div>
      ${heading(3, operationId, html`${summary}`)}
      <p><code>GET ${path}</code></p>
      <p>${inline(description)}</p>
      ${parameters.length > 0 ? html`<h4>Parameters</h4>` : ''}
      ${fieldList(
        parameters.map((each) => ({
          path: each.name,
          type: `${each.in}, ${typeOf(spec, each.schema)}${each.schema.default === undefined ? '' : `, default \`${String(each.schema.default as string | number)}\``}`,
          description: each.description,
        })),
      )}
      <h4>Fields of the response</h4>
      ${fieldList(success ? fieldsOf(spec, success.schema) : [])}
      <h4>Other statuses</h4>
      ${fieldList(
        Object.entries(responses)
          .filter(([status]) => status !== '200')
          .map(([status, response]) => ({
            path: status,
            type: '',
            description: withLinks(site, resolve<Response>(spec, response).description),
          })),
      )}
    </div>
    <div class="samples">
      ${samples.map((each, index) => sample(operation, each, index === 0))}
      ${success?.example ? codeBlock(`${summary}: response`, JSON.stringify(success.example, null, 2)) : ''}
    </div>
  </section>`;
}

/** One sample of an operation is open at a time: the browser closes the others of the name. */
const sample = (
  { operationId, summary }: Operation,
  { label, source }: { label: string; source: string },
  isOpen: boolean,
): Html =>
  html`<details name="${operationId}-samples" ${isOpen ? html`open` : ''}>
    <summary>${label}</summary>
    ${codeBlock(`${summary}: ${label}`, source)}
  </details>`;

/** The codes in a description become links to their pages. */
const withLinks = ({ href }: Site, description: string): string =>
  description.replace(/`(\w+)`/g, (text, code: string) =>
    (errorCodes as string[]).includes(code) ? `[${text}](${href(`/docs/errors/${code}`)})` : text,
  );

const fieldList = (fields: Field[]): Html =>
  fields.length === 0
    ? html``
    : html`<dl class="fields">
        ${fields.map(
          ({ path, type, description, only }) =>
            html`<dt>
                <code>${path}</code>
                <span>${inline(type)}${only ? html`, only if ${inline(only)}` : ''}</span>
              </dt>
              <dd>${inline(description)}</dd>`,
        )}
      </dl>`;
