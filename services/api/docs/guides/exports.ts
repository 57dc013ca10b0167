import { codeBlock } from '../../../../shared/pages/document.ts';
import { html, type Html } from '../../../../shared/pages/html.ts';
import type { Page, Site } from '../layout.ts';

const clientExport = `
import { exportChanges } from '@support-read-models/client';

for await (const batch of exportChanges({ client, since: await readSince(), threads: true })) {
  if ('ticket' in batch) await replaceTicket(batch.ticket);
  else await replaceThread(batch.conversationId, batch.messages, batch.isLast);
  await writeSince(batch.since);
}
`;

/** How to keep a complete copy of the data by fetching only changes. */
export const exportsGuide = (site: Site): Page => ({
  path: '/docs/guides/exports',
  title: 'Complete incremental exports',
  body: html`<h1>Complete incremental exports</h1>
    <p class="lead">
      Keep a complete copy of all tickets by fetching only the changes. The header
      <code>Data-As-Of</code> makes this possible.
    </p>
    <h2>The recipe</h2>
    <ol>
      <li>
        Read <a href="${site.href('/docs/guides/paging')}">all pages</a> of
        <code>/v1/tickets?sort=updatedAt</code>. Store each ticket under its <code>id</code>, and replace the
        ticket that you have.
      </li>
      <li>
        Fetch the threads of <strong>every</strong> ticket in the pages, even if the ticket itself has not
        changed. Store messages under their <code>id</code>, and remove those that the thread does not contain
        any more.
      </li>
      <li>
        Note the <strong>earliest</strong> <code>Data-As-Of</code> of all responses: of pages, of threads, and
        of 404 responses for threads. Store it after you have stored all tickets and messages.
      </li>
      <li>Next time, set <code>updatedAt[gte]</code> to the stored value, and repeat.</li>
    </ol>
    <p>If an export is interrupted, start it again from the last stored value.</p>
    ${[withCurl(site), withClient, threads(site), whyComplete, limits]}`,
});

const withCurl = ({ href }: Site): Html =>
  html`<h2>With curl</h2>
    <p>
      The script uses the variables <code>API</code> and <code>API_KEY</code> of the
      <a href="${href('/docs/guides/paging')}">paging guide</a>. The first run writes every ticket to
      <code>changes.jsonl</code>; each later run appends the tickets that have changed. Between runs it needs
      only the file <code>since</code>. It does not fetch threads; a script that does must include their
      <code>Data-As-Of</code> in the comparison.
    </p>
    ${codeBlock('Exporting changes', exportScript)}
    <p>For the latest state of each ticket, keep the last line of each <code>id</code>:</p>
    ${codeBlock('The latest state of each ticket', "jq --slurp --compact-output 'group_by(.id) | map(last) | .[]' changes.jsonl")}`;

const withClient = html`<h2>In TypeScript</h2>
  <p>
    The client <code>@support-read-models/client</code> contains the recipe as one function. Create
    <code>client</code> as in the paging guide. Store <code>batch.since</code> after the batch: then a run
    that is killed continues from there.
  </p>
  ${codeBlock('Exporting changes in TypeScript', clientExport)}`;

const threads = ({ href }: Site): Html =>
  html`<h2>Threads</h2>
    <p>
      The <code>conversations</code> of each exported ticket are its threads. There are two ways to fetch
      them:
    </p>
    <ul>
      <li><code>/v1/conversations/{id}</code> returns a conversation with all its messages.</li>
      <li>
        <code>/v1/conversations/{id}/messages</code> returns the messages in pages. Use it for long threads,
        or if you need the authors.
      </li>
    </ul>
    <p>
      An archived conversation cannot be retrieved by itself: the response is 404
      <a href="${href('/docs/errors/conversation_not_found')}"><code>conversation_not_found</code></a
      >. Its messages can still be listed. The <code>Data-As-Of</code> of these responses counts like that of
      pages.
    </p>`;

const whyComplete = html`<h2>Why it is complete</h2>
  <p>
    The data behind the API arrives in several streams, and one stream may be ahead of another.
    <code>Data-As-Of</code> is the time up to which <em>all</em> streams have arrived. Every change up to that
    time is in the response; some later changes may be in it, too. Different replicas may answer your
    requests, and one replica may lag another.
  </p>
  <ul>
    <li>
      <strong>Nothing is left out.</strong> Any change that an export has missed was made after the earliest
      <code>Data-As-Of</code> of its responses. So the ticket's <code>updatedAt</code> is not before that
      time, and the next export finds it.
    </li>
    <li>
      <strong>Why the earliest value, not the last.</strong> During the export a late change may arrive and
      belong to a page that you have already read. It was made after that page's <code>Data-As-Of</code>, but
      perhaps before the <code>Data-As-Of</code> of the last page.
    </li>
    <li>
      <strong>Why the earliest value, not the first.</strong> A later page, or a thread, may come from a
      replica that lags the replica of the first page. It may lack changes that were made before the first
      page's <code>Data-As-Of</code>.
    </li>
    <li>
      <strong>Why the threads of unchanged tickets, too.</strong> A message may arrive after its ticket. The
      next export lists the ticket again, because it was changed after the stored <code>Data-As-Of</code>, but
      the ticket itself looks the same.
    </li>
    <li>
      <strong>Why not your own clock, or the latest <code>updatedAt</code>.</strong> A ticket from a fast
      stream may have a newer <code>updatedAt</code> than a ticket that has not arrived yet in a slow stream.
      Only <code>Data-As-Of</code> takes the slow stream into account.
    </li>
    <li>
      <strong>Why some tickets come twice.</strong> Bounds are inclusive, and changes made after
      <code>Data-As-Of</code> may already be in a response. A repeated ticket does no harm, because you
      replace by <code>id</code>.
    </li>
    <li>
      <strong>Why <code>sort=updatedAt</code>.</strong> A ticket that changes during the export moves to the
      end of the list, which you have not read yet. With the default, <code>-updatedAt</code>, it would move
      to the start, which you have already read.
    </li>
  </ul>
  <p>
    This relies on two guarantees of the system that the data comes from: <code>updatedAt</code> is the time
    of the change, and a ticket's <code>updatedAt</code> is never earlier than a change in its threads.
  </p>`;

const limits = html`<h2>What an export does not show</h2>
  <ul>
    <li>
      <strong>Renamed contacts, teammates, agents, channels, tags and topics.</strong> Responses show the new
      name at once, but the <code>updatedAt</code> of the ticket does not change.
    </li>
    <li>
      <strong>Deleted tickets, conversations and messages.</strong> They are in no response any more. The
      <code>updatedAt</code> of a ticket need not change when its messages are deleted.
    </li>
    <li>
      <strong>Expired conversations and messages.</strong> If a channel has <code>dataRetentionDays</code>,
      the API stops serving its conversations that many days after their <code>updatedAt</code>, and its
      messages that many days after their <code>createdAt</code>. Tickets do not expire.
    </li>
  </ul>
  <p>Your copy keeps all of these until you act:</p>
  <ul>
    <li>
      <strong>Replace each thread that you fetch as a whole.</strong> Remove the messages that it does not
      contain any more. If <code>/v1/conversations/{id}/messages</code> returns 404, remove the conversation
      and its messages, unless the <code>Data-As-Of</code> of the 404 is earlier than the conversation's
      <code>createdAt</code>: then a replica does not have it yet.
    </li>
    <li>
      <strong>Read the whole list, with the threads, from time to time,</strong> for example every night.
      Replace your copies. Then request each ticket of your copy that the list does not mention, and the
      messages of each such conversation, because an archived conversation cannot be retrieved. By the same
      rule, a 404 says that the item is gone.
    </li>
    <li>
      <strong>Apply the retention yourself</strong> if expired data must leave your copy in time:
      <code>/v1/channels/{id}</code> returns <code>dataRetentionDays</code>.
    </li>
  </ul>
  <p>There are few channels and Q&amp;As: read their whole lists each time.</p>
  <h2>How often</h2>
  <p>
    As often as you like: an export that finds nothing costs one request. <code>Data-As-Of</code> is usually a
    few seconds behind the present. If it does not advance, no new data is arriving. Responses are still
    correct as of that time, and later exports catch up without any action.
  </p>`;

const exportScript = `
since=$(cat since 2> /dev/null)    # absent on the first run, which exports everything
next=
cursor=
while :; do
  page=$(curl --silent --show-error --fail --retry 5 --dump-header headers --get "$API/v1/tickets" \\
    --header "Authorization: Bearer $API_KEY" --data limit=100 --data sort=updatedAt \\
    \${since:+--data "updatedAt[gte]=$since"} \${cursor:+--data "startingAfter=$cursor"}) || exit 1
  as_of=$(tr -d '\\r' < headers | awk 'tolower($1) == "data-as-of:" { at = $2 } END { print at }')
  if [[ -z "$next" || "$as_of" < "$next" ]]; then next=$as_of; fi    # the earliest of all answers
  jq --compact-output '.data[]' <<< "$page" >> changes.jsonl
  cursor=$(jq --raw-output '.nextCursor // empty' <<< "$page")
  [ -n "$cursor" ] || break
done
echo "$next" > since
`;
