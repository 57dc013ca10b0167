import { html, prose, type Html } from '../html.ts';
import { codeBlock, type Page } from '../layout.ts';
import type { Site } from '../site.ts';
import { table } from '../table.ts';

/** How a list is walked from its first page to its last. */
export const pagingGuide = (site: Site): Page => ({
  path: '/docs/guides/paging',
  title: 'Paging',
  body: html`<h1>Paging</h1>
    <p class="lead">
      Lists come in pages of 1 to 100 items. Walk them with the cursor that each page ends with.
    </p>
    ${[thePage, aWalk(site), withClient(site), whatHolds(site), orders(site), rateLimit(site)]}`,
});

const thePage = html`<h2>The page</h2>
  ${table(
    'What every list answers',
    ['Field', 'Meaning'],
    [
      row('object', 'Always `list`.'),
      row(
        'data',
        'The items of the page, at most `limit`: 20 unless told, 100 at most. There may be fewer, or none, before the ' +
          'last page: a page ends early where its items are large, or where many tickets had to be looked at to find ' +
          'those that match a filter on one date under a sort by the other.',
      ),
      row('hasMore', 'Whether pages follow; this alone tells, not the number of items.'),
      row('nextCursor', 'Where the next page begins; `null` on the last one.'),
      row('url', 'The path of the list.'),
    ],
  )}`;

const aWalk = (site: Site): Html =>
  html`<h2>A walk with curl</h2>
    <p>The examples need curl, jq and two variables:</p>
    ${codeBlock('Setting up', setUp(site))}
    <p>
      Repeat the request with <code>startingAfter</code> set to the <code>nextCursor</code> of the page
      before, until <code>hasMore</code> is <code>false</code>. This prints every ticket, one a line:
    </p>
    ${codeBlock('Walking a list', walk)}
    <p>
      <code>--retry</code> waits as <code>Retry-After</code> says when the rate limit or an outage is in the
      way, and then asks for the same page again.
    </p>`;

const withClient = ({ apiUrl }: Site): Html =>
  html`<h2>A walk in TypeScript</h2>
    <p>
      The client <code>support-read-models-client</code> fetches the next page when the loop comes to it, and
      waits and asks again by itself:
    </p>
    ${codeBlock('Walking a list in TypeScript', clientWalk(apiUrl))}`;

const whatHolds = ({ href }: Site): Html =>
  html`<h2>What to rely on</h2>
    <ul>
      <li>
        An item that does not change during a walk is met exactly once, whatever else is created, changed or
        deleted meanwhile.
      </li>
      <li>
        An item that does change may be met again, or not, where the list is sorted by what changed: under
        <code>sort=updatedAt</code> it moves to the end and is met again; under
        <code>sort=-updatedAt</code> it moves to the front, behind you. Replace by <code>id</code> what you
        have seen before.
      </li>
      <li>A page costs the same at any depth. There is no cap on the number of pages.</li>
      <li>
        A cursor does not expire. It holds a place in one list with one sort and one set of filters; used with
        another it is <a href="${href('/docs/errors/invalid_cursor')}"><code>invalid_cursor</code></a
        >. <code>limit</code> may differ from page to page.
      </li>
      <li>Cursors are opaque, and may look different from release to release. Pass them on as they are.</li>
    </ul>`;

const orders = ({ href }: Site): Html =>
  html`<h2>Which order</h2>
    ${table(
      'Lists and their orders',
      ['List', 'Order'],
      [
        [
          html`<code>/v1/tickets</code>`,
          html`<code>sort</code>: <code>createdAt</code>, <code>-createdAt</code>, <code>updatedAt</code> or
            <code>-updatedAt</code>, which is the default. Take <code>createdAt</code> to see everything once,
            <code>updatedAt</code> for <a href="${href('/docs/guides/exports')}">exports of changes</a>,
            <code>-updatedAt</code> for the latest.`,
        ],
        row('/v1/conversations/{id}/messages', 'Oldest first. There is no cap on the length of a thread.'),
        row('/v1/channels', 'By creation, oldest first, without archived ones.'),
        row('/v1/knowledge/qa', 'By creation, oldest first.'),
      ],
    )}`;

function row(name: string, text: string): [Html, Html] {
  return [html`<code>${name}</code>`, html`${prose(text)}`];
}

/** The variables that the examples of all guides use. */
const setUp = ({ apiUrl, settings }: Site) => `
export API='${apiUrl}'
export API_KEY='${settings.brand}_live_…'    # in the header alone, never in an address
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
import { createClient } from 'support-read-models-client';

const client = createClient({ baseUrl: '${apiUrl}', apiKey: process.env.API_KEY ?? '' });
for await (const ticket of client.tickets.all({ sort: 'createdAt', limit: 100 })) {
  console.log(ticket.id, ticket.title);
}
`;

function rateLimit({ href, settings }: Site): Html {
  const { requests, windowSeconds } = settings.limit;
  if (requests === 0)
    return html`<h2>How fast</h2>
      <p>Requests are not limited here. Ask for pages one after another.</p>`;
  return html`<h2>How fast</h2>
    <p>
      A key may make ${requests} requests in ${windowSeconds} s. The headers
      <code>RateLimit-Remaining</code> and <code>RateLimit-Reset</code> say how many are left and in how many
      seconds all are back; beyond the limit the answer is 429
      <a href="${href('/docs/errors/too_many_requests')}"><code>too_many_requests</code></a> with
      <code>Retry-After</code>. With <code>limit=100</code> a walk needs the fewest requests.
    </p>`;
}
