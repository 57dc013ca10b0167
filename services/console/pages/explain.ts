import { placeText } from '../../../shared/control/ledger.ts';
import { idLengthMax } from '../../../shared/documents/fields.ts';
import { type Html, html, table } from '../../../shared/pages/html.ts';
import type { ExplainedDocument, Explanation } from '../../operations/explain/explanation.ts';
import { documentRows, type Ingredient, ingredients, notFoundText } from '../../operations/explain/rows.ts';
import type { Row } from '../../operations/row.ts';
import { traceRows } from '../../operations/traces/read-trace.ts';
import {
  ago,
  commandToCopy,
  contentOf,
  definitions,
  numberCell,
  type Page,
  timeOf,
  withAges,
} from '../layout.ts';
import type { ExplainedId, Sources } from '../sources.ts';
import { topicPath } from './topics.ts';

/** Explains a document by its id or by the Request-Id of a request that named it, as `support-cli explain` does. */
export const explainPage = (sources: Sources): Page => ({
  path: '/explain',
  title: 'Explain',
  fixed: async (query) => {
    const id = (query.get('id') ?? '').trim();
    return html`<form action="/explain">
        <label for="id">The id of a document, or the Request-Id of a request that named one</label>
        <fieldset role="group">
          <input id="id" name="id" value="${id}" maxlength="${idLengthMax}" required autocomplete="off" />
          <button>Explain</button>
        </fieldset>
      </form>
      ${id === '' ? html`` : contentOf(await sources.explanation(id), (explained) => renderExplanation(explained, sources.commands.cli, id))}`;
  },
});

function renderExplanation({ trace, explanation }: ExplainedId, cli: string, id: string): Html {
  const { documents, now, refused, requests } = explanation;
  const parts: Html[] = [];
  if (trace) parts.push(html`<h2>Request ${id}</h2>`, rowsOf(traceRows(trace)));
  if (documents.length === 0) parts.push(html`<p class="finding">${notFoundText(explanation)}</p>`);
  for (const document of documents) {
    parts.push(html`<h2>${document.kind} ${document.id}</h2>`, rowsOf(documentRows(document, now)));
    parts.push(ingredientsTable(document));
  }
  if (refused.length > 0) parts.push(refusedTable(refused));
  if (requests.length > 0) parts.push(requestsTable(requests));
  // Any other id would need quotes on a terminal.
  const isPlainWord = /^\w[\w-]*$/.test(id);
  if (isPlainWord) parts.push(html`<p>On a terminal: ${commandToCopy(`${cli} explain ${id}`)}</p>`);
  return html`${parts}`;
}

function rowsOf(rows: Row[]): Html {
  const known: [name: string, value: Html][] = [];
  for (const [name, text] of rows) {
    if (text !== null) known.push([name, withAges(text)]);
  }
  return definitions(known);
}

const explainLink = (id: string): Html => html`<a href="/explain?id=${encodeURIComponent(id)}">${id}</a>`;

const ingredientsTable = (document: ExplainedDocument): Html =>
  table(
    `The records that the document was made of, in generation ${document.generation}`,
    ['Field', 'Entity', 'Status', 'Version', 'Record', "Kafka's time"],
    ingredients(document).map(({ field, fields, kind, id, status, version, record }) => [
      html`${field} ${fields.length > 0 ? html`<small>${fields.join(', ')}</small>` : html``}`,
      html`${kind} ${id === document.id ? id : explainLink(id)}`,
      html`${status}`,
      version === null ? html`` : numberCell(version),
      record ? recordLink(document, record) : html``,
      record ? timeOf(record.time) : html``,
    ]),
  );

/** Links a record to the progress of its topic. */
const recordLink = ({ generation }: ExplainedDocument, record: NonNullable<Ingredient['record']>): Html =>
  html`<a href="${topicPath(generation, record.topic)}">${placeText(record)}</a>`;

const refusedTable = (refused: Explanation['refused']): Html =>
  table(
    'The latest dead letters that name it',
    ['Dead letter', 'Version', 'Reason'],
    refused.map(({ id, version, reason, detail }) => [
      html`<a href="/dead-letters?id=${encodeURIComponent(id)}">${id}</a>`,
      version === null ? html`` : numberCell(version),
      html`${reason}: ${detail}`,
    ]),
  );

const requestsTable = (requests: Explanation['requests']): Html =>
  table(
    'The latest traced requests for it',
    ['Request', 'Time', 'Status', 'API key'],
    requests.map(({ id, time, status, code, key }) => [
      explainLink(id),
      ago(new Date(time)),
      html`${status} ${code ?? ''}`,
      html`${key ?? 'no key accepted'}`,
    ]),
  );
