import { html, type Html } from '../html.ts';
import { codeBlock, type Page } from '../layout.ts';
import type { Site } from '../site.ts';

const clientExport = `
import { exportChanges } from 'support-read-models-client';

for await (const batch of exportChanges({ client, since: await readSince(), threads: 'messages' })) {
  await upsertById(batch.tickets, batch.messages);
  await writeSince(batch.since);
}
`;

/** How a copy of the data is kept complete by asking for changes alone. */
export const exportsGuide = (site: Site): Page => ({
  path: '/docs/guides/exports',
  title: 'Complete incremental exports',
  body: html`<h1>Complete incremental exports</h1>
    <p class="lead">
      Keep a copy of all tickets up to date by asking only for what has changed, and miss nothing. One header
      makes it possible: <code>Data-As-Of</code>.
    </p>
    <h2>The recipe</h2>
    <ol>
      <li>
        Walk <code>/v1/tickets?sort=updatedAt</code>,
        <a href="${site.href('/docs/guides/paging')}">all pages</a>. Store each ticket under its
        <code>id</code>, replacing what is there.
      </li>
      <li>
        Fetch the threads of <strong>every</strong> ticket met, also of one that you have and that has not
        changed, and store messages under their <code>id</code>.
      </li>
      <li>
        Note the <strong>earliest</strong> <code>Data-As-Of</code> of all answers: pages, threads, and those
        that say a thread is not there (404). Store it once everything before it is stored.
      </li>
      <li>Next time, walk with <code>updatedAt[gte]</code> set to it, and repeat.</li>
    </ol>
    <p>A walk that breaks off is begun again from the value that was stored last.</p>
    ${[withCurl(site), withClient, threads(site), whyComplete, limits]}`,
});

const withCurl = ({ href }: Site): Html =>
  html`<h2>With curl</h2>
    <p>
      With <code>API</code> and <code>API_KEY</code>
      <a href="${href('/docs/guides/paging')}">as for paging</a>. The first run writes every ticket to
      <code>changes.jsonl</code>, each further run adds those that have changed; the file
      <code>since</code> is all that is kept in between. Threads are left out here; a script that fetches them
      compares their <code>Data-As-Of</code> in the same way.
    </p>
    ${codeBlock('Exporting changes', exportScript)}
    <p>To have the latest state of each ticket, keep the last line of each <code>id</code>:</p>
    ${codeBlock('The latest state of each ticket', "jq --slurp --compact-output 'group_by(.id) | map(last) | .[]' changes.jsonl")}`;

const withClient = html`<h2>In TypeScript</h2>
  <p>
    The client <code>support-read-models-client</code>, made as for paging, has the recipe as one function.
    Store <code>batch.since</code> after the batch, and a run that is killed goes on from there.
  </p>
  ${codeBlock('Exporting changes in TypeScript', clientExport)}`;

const threads = ({ href }: Site): Html =>
  html`<h2>Threads</h2>
    <p>
      For each ticket of the export, its <code>conversations</code> name the threads. Ask for
      <code>/v1/conversations/{id}</code> for a conversation with all its messages, or walk
      <code>/v1/conversations/{id}/messages</code> where threads are long or the authors matter. An archived
      conversation is not retrieved by itself (404
      <a href="${href('/docs/errors/conversation_not_found')}"><code>conversation_not_found</code></a
      >); its messages still are. Their <code>Data-As-Of</code> counts as that of the pages does.
    </p>`;

const whyComplete = html`<h2>Why it is complete</h2>
  <p>
    The data behind the API arrives in several streams at once, and one may be ahead of another.
    <code>Data-As-Of</code> is the instant up to which <em>all</em> of them have arrived: every change made up
    to then is in that response; of later changes some may be, too. Your requests may be answered by different
    replicas, and one may be behind another.
  </p>
  <ul>
    <li>
      <strong>Nothing is left out.</strong> What a run has not shown was changed after the earliest
      <code>Data-As-Of</code> of its answers. So the ticket's <code>updatedAt</code> is not before that
      instant, and the next walk asks for it.
    </li>
    <li>
      <strong>Why the earliest, and not the last.</strong> While you walk, a change may arrive late and take
      its place on a page that you have already had. It was made after that page's <code>Data-As-Of</code>,
      but perhaps before the last page's.
    </li>
    <li>
      <strong>Why the earliest, and not the first.</strong> A later page, or a thread, may come from a replica
      that is behind the one that gave the first page. It lacks changes which the first page's
      <code>Data-As-Of</code> counts as shown.
    </li>
    <li>
      <strong>Why the threads of unchanged tickets too.</strong> A message may arrive after the ticket that it
      belongs to. You meet that ticket again, as it was changed after <code>Data-As-Of</code>, but it looks
      the same.
    </li>
    <li>
      <strong>Why not your own clock, or the greatest <code>updatedAt</code> seen.</strong> A ticket of a fast
      stream may show a newer <code>updatedAt</code> than one that has yet to arrive in a slow stream. Only
      <code>Data-As-Of</code> knows of the slow one.
    </li>
    <li>
      <strong>Why some come twice.</strong> Bounds are inclusive, and changes made after
      <code>Data-As-Of</code> may be shown early. Since you replace by <code>id</code>, meeting a ticket again
      does no harm.
    </li>
    <li>
      <strong>Why <code>sort=updatedAt</code>.</strong> A ticket that changes during the walk moves towards
      the end, which is still to come. Under the default, <code>-updatedAt</code>, it would move behind you.
    </li>
  </ul>
  <p>
    It rests on two promises of the system that the data comes from: <code>updatedAt</code> is the instant of
    the change, and a ticket is updated no earlier than what happens in its threads.
  </p>`;

const limits = html`<h2>What it does not show</h2>
  <p>
    <code>updatedAt</code> is the ticket's own. When a contact, tag or topic that a ticket shows is renamed,
    the ticket shows the new name at once, and its <code>updatedAt</code> stays. A ticket that is deleted, by
    hand or for its channel's <code>dataRetentionDays</code>, is not listed any more: no walk mentions it. To
    pick up both, walk without a bound from time to time, say once a night: replace what you have, and drop
    what is no longer listed.
  </p>
  <p>Channels and Q&amp;As are few: walk their lists whole.</p>
  <h2>How often</h2>
  <p>
    As often as you like: a walk that finds nothing costs one request, and <code>Data-As-Of</code> usually
    trails the present by seconds. When it stands still, data has stopped arriving; answers stay right as of
    that instant, and the export catches up by itself.
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
