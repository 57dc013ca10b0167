import { codeBlock } from '../../../../shared/pages/document.ts';
import { html, prose, table, type Html } from '../../../../shared/pages/html.ts';
import type { Page, Site } from '../layout.ts';
import { pageSizeDefault, pageSizeMax } from '../../paging/page-parameters.ts';

/** How to read a list from its first page to its last. */
export const pagingGuide = (site: Site): Page => ({
  path: '/docs/guides/paging',
  title: 'Paging',
  body: html`<h1>Paging</h1>
    <p class="lead">
      A list is returned in pages of up to ${pageSizeMax} items. Each page contains the cursor for the next
      one.
    </p>
    ${[thePage, aWalk(site), withClient(site), whatHolds(site), orders(site), rateLimit(site)]}`,
});

const thePage = html`<h2>The page</h2>
  ${table(
    'Fields of every list',
    ['Field', 'Meaning'],
    [
      row('object', 'Always `list`.'),
      row(
        'data',
        `The items of the page, at most \`limit\` (default ${pageSizeDefault}, maximum ${pageSizeMax}). Any page may contain fewer items, or none. ` +
          'A page ends early if its items are large. It also ends early if you filter by one date and sort by the ' +
          'other, and many tickets had to be searched.',
      ),
      row('hasMore', 'Whether more pages follow. The number of items does not tell you that.'),
      row('nextCursor', 'The cursor of the next page; `null` on the last page.'),
      row('url', 'The path of the list.'),
    ],
  )}`;

const aWalk = (site: Site): Html =>
  html`<h2>Reading a list with curl</h2>
    <p>The examples need curl, jq and two variables:</p>
    ${codeBlock('Setting up', setUp(site))}
    <p>
      Repeat the request with <code>startingAfter</code> set to the <code>nextCursor</code> of the previous
      page, until <code>hasMore</code> is <code>false</code>. This script prints every ticket, one per line:
    </p>
    ${codeBlock('Walking a list', walk)}
    <p>
      If the rate limit is reached, or during an outage, <code>--retry</code> waits as long as
      <code>Retry-After</code> says. Then it requests the same page again.
    </p>`;

const withClient = ({ apiUrl }: Site): Html =>
  html`<h2>Reading a list in TypeScript</h2>
    <p>
      The client <code>@support-read-models/client</code> fetches each page when the loop needs it. It waits
      and retries automatically. It is in no registry: ask the provider of this service for the package.
    </p>
    ${codeBlock('Walking a list in TypeScript', clientWalk(apiUrl))}`;

const whatHolds = ({ href }: Site): Html =>
  html`<h2>What you can rely on</h2>
    <ul>
      <li>
        An item that does not change while you read the list appears exactly once, whatever else is created,
        changed or deleted meanwhile.
      </li>
      <li>
        If the list is sorted by <code>updatedAt</code>, an item that changes moves. With
        <code>sort=updatedAt</code> it moves to the end and appears again. With
        <code>sort=-updatedAt</code> it moves to the start, and you may miss it. Replace items that you
        already have by their <code>id</code>.
      </li>
      <li>Later pages are as fast as the first. There is no limit on the number of pages.</li>
      <li>
        A cursor does not expire. It is valid for one list with one sort and one set of filters; with any
        other the response is <a href="${href('/docs/errors/invalid_cursor')}"><code>invalid_cursor</code></a
        >. <code>limit</code> may differ from page to page.
      </li>
      <li>Cursors are opaque, and their format may change between releases. Send them back unchanged.</li>
    </ul>`;

const orders = ({ href }: Site): Html =>
  html`<h2>Orders</h2>
    ${table(
      'Lists and their orders',
      ['List', 'Order'],
      [
        [
          html`<code>/v1/tickets</code>`,
          html`<code>sort</code>: <code>createdAt</code>, <code>-createdAt</code>, <code>updatedAt</code> or
            <code>-updatedAt</code> (the default). Use <code>createdAt</code> to read every ticket once,
            <code>updatedAt</code> for <a href="${href('/docs/guides/exports')}">exports of changes</a>, and
            <code>-updatedAt</code> for the latest changes.`,
        ],
        row('/v1/conversations/{id}/messages', 'Oldest first. There is no limit on the length of a thread.'),
        row('/v1/channels', 'By creation, oldest first, without archived channels.'),
        row('/v1/knowledge/qa', 'By creation, oldest first.'),
      ],
    )}`;

function row(name: string, text: string): [Html, Html] {
  return [html`<code>${name}</code>`, html`${prose(text)}`];
}

/** The variables that the examples of all guides use. */
const setUp = ({ apiUrl, settings }: Site) => `
export API='${apiUrl}'
export API_KEY='${settings.keyPrefix}_live_…'    # send it in the header only, never in a URL
`;

const walk = `
cursor=
while :; do
  page=$(curl --silent --show-error --fail --retry 5 --get "$API/v1/tickets" \\
    --header "Authorization: Bearer $API_KEY" \\
    --data limit=100 --data sort=createdAt \${cursor:+--data "startingAfter=$cursor"}) || exit 1
  jq --compact-output '.data[]' <<< "$page"
  cursor=$(jq --raw-output '.nextCursor // empty' <<< "$page")
  [ -n "$cursor" ] || break
done
`;

const clientWalk = (apiUrl: string) => `
import { createClient } from '@support-read-models/client';

const client = createClient({ baseUrl: '${apiUrl}', apiKey: process.env.API_KEY ?? '' });
for await (const ticket of client.tickets.list({ sort: 'createdAt', limit: 100 })) {
  console.log(ticket.id, ticket.title);
}
`;

function rateLimit({ href, settings }: Site): Html {
  const { requests, windowSeconds } = settings.limit;
  if (requests === 0)
    return html`<h2>How fast</h2>
      <p>There is no rate limit. Request pages one after another.</p>`;
  return html`<h2>How fast</h2>
    <p>
      A key may make ${requests} requests in ${windowSeconds} s. The header
      <code>RateLimit-Remaining</code> says how many requests are left, and <code>RateLimit-Reset</code> in
      how many seconds the oldest request stops counting, so that one more is allowed. Above the limit the
      response is 429
      <a href="${href('/docs/errors/too_many_requests')}"><code>too_many_requests</code></a> with
      <code>Retry-After</code>. With <code>limit=${pageSizeMax}</code> you need the fewest requests.
    </p>`;
}
