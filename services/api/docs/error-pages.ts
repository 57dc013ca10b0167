import { STATUS_CODES } from 'node:http';
import { errorCatalogue, type ErrorCode } from '../http/error-catalogue.ts';
import { errorCodes } from '../http/error-envelope.ts';
import { errorExample } from '../openapi/errors.ts';
import { errorTexts } from './error-texts.ts';
import { codeBlock } from '../../../shared/pages/document.ts';
import { html, prose, table, type Html } from '../../../shared/pages/html.ts';
import type { Page, Site } from './layout.ts';

const pathOf = (code: ErrorCode) => `/docs/errors/${code}`;

export const errorPages = (site: Site): Page[] => [
  errorList(site),
  ...errorCodes.map((code) => errorPage(site, code)),
];

/** All codes, ordered by status. */
function errorList(site: Site): Page {
  const codes = errorCodes.toSorted((a, b) => errorCatalogue[a].status - errorCatalogue[b].status);
  return {
    path: '/docs/errors',
    title: 'Errors',
    body: html`<h1>Errors</h1>
      <p>
        The HTTP status is the source of truth. Every error response has the same body. Branch on
        <code>error.code</code>, which does not change within <code>/v1</code>; <code>error.message</code> is
        for people and may change. If you contact support, include <code>error.requestId</code>, which is also
        in the header <code>Request-Id</code>.
      </p>
      ${exampleOf(site, 'invalid_query_parameter')}
      <p>
        Only <code>invalid_query_parameter</code> has <code>error.param</code>. If a response has
        <code>Retry-After</code>, wait for that number of seconds and send the request again. You may also
        repeat a request after a lost connection, because all requests only read data.
      </p>
      ${table(
        'All codes',
        ['Code', 'Status', 'Message'],
        codes.map((code) => row(site, code)),
      )}`,
  };
}

const row = ({ href }: Site, code: ErrorCode): [Html, ...Html[]] => [
  html`<a href="${href(pathOf(code))}"><code>${code}</code></a>`,
  html`${errorCatalogue[code].status}`,
  html`${prose(errorCatalogue[code].message)}`,
];

function errorPage(site: Site, code: ErrorCode): Page {
  const { status, type, message } = errorCatalogue[code];
  const { meaning, causes, remedy } = errorTexts[code];
  return {
    path: pathOf(code),
    title: code,
    body: html`<h1><code>${code}</code></h1>
      <dl>
        <div>
          <dt>Status</dt>
          <dd>${status} ${STATUS_CODES[status] ?? ''}</dd>
        </div>
        <div>
          <dt>Type</dt>
          <dd><code>${type}</code></dd>
        </div>
      </dl>
      <p class="lead">${prose(message)}</p>
      <h2>What it means</h2>
      <p>${prose(meaning)}</p>
      <h2>What causes it</h2>
      <ul>
        ${causes.map((cause) => html`<li>${prose(cause)}</li>`)}
      </ul>
      <h2>What to do</h2>
      <p>${prose(remedy)}</p>
      <h2>Example</h2>
      ${exampleOf(site, code)}
      <p><a href="${site.href('/docs/errors')}">All errors</a></p>`,
  };
}

const exampleOf = ({ settings }: Site, code: ErrorCode): Html =>
  codeBlock(`Example of ${code}`, JSON.stringify(errorExample(settings.docs, code), null, 2));
