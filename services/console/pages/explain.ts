import type { MongoClient } from 'mongodb';
import { html, type Html } from '../../../shared/pages/html.ts';
import { requestIdShape } from '../../../shared/store/request-traces.ts';
import { explain, idInTrace } from '../../operations/explain/explain.ts';
import { explainedRows, notFoundText, refusedRows, requestRows } from '../../operations/explain/rows.ts';
import { readTrace, traceRows } from '../../operations/traces/read-trace.ts';
import type { ConsoleConfig } from '../config.ts';
import { command, definitions, type Page } from '../layout.ts';
import type { RenderWithDeadline } from '../readings.ts';
import type { Sources } from '../sources.ts';

type Deps = { mongo: MongoClient; config: ConsoleConfig; sources: Sources; render: RenderWithDeadline };

/** Explains a document by its id or by the Request-Id of a request that named it, as `support-cli explain` does. */
export const explainPage = (deps: Deps): Page => ({
  path: '/explain',
  title: 'Explain',
  fixed: async (query) => {
    const id = (query.get('id') ?? '').trim().slice(0, idLengthMax);
    return html`<form action="/explain">
        <label for="id">The id of a document, or the Request-Id of a request that named one</label>
        <input id="id" name="id" value="${id}" maxlength="${idLengthMax}" required autocomplete="off" />
        <button>Explain</button>
      </form>
      ${id === '' ? html`` : await deps.render(() => explained(deps, id))}`;
  },
});

const idLengthMax = 200;

async function explained({ mongo, config, sources }: Deps, id: string): Promise<Html> {
  const { control, commands } = sources;
  const isRequest = requestIdShape.test(id);
  const request = isRequest
    ? html`<h2>Request ${id}</h2>
        ${definitions(traceRows(await readTrace(control, id)))}`
    : html``;
  const explanation = await explain({ mongo, config }, isRequest ? await idInTrace(control, id) : id);
  const { documents, now } = explanation;
  return html`${request}
  ${documents.length === 0 ? html`<p class="finding">${notFoundText(explanation)}</p>` : html``}
  ${documents.map(
    (document) =>
      html`<h2>${document.kind} ${document.id}</h2>
        ${definitions(explainedRows(document, now))}`,
  )}
  ${
    explanation.refused.length > 0
      ? html`<h2>Refused records</h2>
          ${definitions(refusedRows(explanation))}`
      : html``
  }
  ${
    explanation.requests.length > 0
      ? html`<h2>Latest requests</h2>
          ${definitions(requestRows(explanation).map(([name, text]) => [name, html`<a href="/explain?id=${name}">${text}</a>`]))}`
      : html``
  }
  ${/^[\w-]+$/.test(id) ? html`<p>On a terminal: ${command(`${commands.cli} explain ${id}`)}</p>` : html``}`;
}
