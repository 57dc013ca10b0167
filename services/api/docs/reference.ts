import { html } from './html.ts';
import type { Page } from './layout.ts';
import type { Site } from './site.ts';

/** The page that the renderer fills in the browser from the OpenAPI document. */
export const referencePage = (site: Site): Page => ({
  path: '/docs',
  title: 'Reference',
  content: 'reference',
  head: html`<link rel="stylesheet" href="${site.asset('swagger-ui.css')}" />
    <link rel="stylesheet" href="${site.asset('reference.css')}" />
    <script src="${site.asset('swagger-ui-bundle.js')}" defer></script>
    <script src="${site.asset('reference.mjs')}" type="module"></script> `,
  body: html`<noscript
      ><p>
        The reference needs JavaScript. Its whole content is in the
        <a href="${site.href('/openapi.json')}">OpenAPI document</a>.
      </p></noscript
    >
    <div id="reference" data-document="${site.href('/openapi.json')}"><h1>Reference</h1></div>`,
});
