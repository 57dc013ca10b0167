import { type Html, html, table } from '../../../shared/pages/html.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { type DeadLetterDetails, deadLetterRows, verbFor } from '../../operations/dead-letters/details.ts';
import type { DeadLetterList } from '../../operations/dead-letters/list.ts';
import { shellWord } from '../../operations/deployment.ts';
import {
  breakable,
  commandToCopy,
  contentOf,
  definitions,
  freshness,
  numberCell,
  type Page,
  staleVerdict,
  timeOf,
  withAges,
} from '../layout.ts';
import type { LetterQuery, Sources } from '../sources.ts';

const path = '/dead-letters';

/** The dead letters by topic and reason, then each of them; or a single dead letter, without its bytes. */
export const deadLettersPage = (sources: Sources): Page => ({
  path,
  title: 'Dead letters',
  fixed: async (query) => {
    const id = query.get('id');
    return id
      ? contentOf(await sources.deadLetter(id), (letter) => renderLetter(letter, sources.commands.cli))
      : html``;
  },
  regions: async (query): Promise<Record<string, Html>> => {
    if (query.get('id')) return {};
    const parameter = (name: string) => query.get(name) || undefined;
    const wanted = { topic: parameter('topic'), reason: parameter('reason') };
    const reading = await sources.deadLetters(wanted);
    const stale = staleVerdict(reading);
    return {
      stale: stale ?? html``,
      groups: reading.value
        ? html`${groupsTable(sources.commands.cli, wanted, reading.value, stale === null)}
          ${lettersTable(sources.commands.cli, wanted, reading.value)}`
        : html`<p>No dead letters are known yet.</p>`,
      fresh: freshness(reading),
    };
  },
});

function link(query: Partial<LetterQuery> & { id?: string }, content: Html | string): Html {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value) parameters.set(name, value);
  }
  const search = parameters.size > 0 ? `?${parameters.toString()}` : '';
  return html`<a href="${path}${search}">${content}</a>`;
}

function groupsTable(
  cli: string,
  { topic, reason }: LetterQuery,
  { counts, total }: DeadLetterList,
  isPresent: boolean,
): Html {
  const all = topic || reason ? html` ${link({}, 'Show all.')}` : html``;
  const chosen = [topic && `topic ${topic}`, reason && `reason ${reason}`].filter(Boolean).join(', ');
  if (total === 0)
    return html`<p class="${isPresent ? 'verdict good' : ''}">
      ${chosen ? `No dead letter has ${chosen}.` : 'There are no dead letters.'}${all}
    </p>`;
  return html`${chosen ? html`<p>Only those of ${chosen}.${all}</p>` : html``}
    <p>
      Redrive them once their cause is fixed: a deploy, or a correction at the source. A record that is
      refused again stays here. Add <code>--dry-run</code> to see the outcome first.
    </p>
    ${table(
      `${counted(total, 'dead letter')}, by topic and reason`,
      ['Topic', 'Reason', 'Number', 'Next'],
      counts.map((group) => groupRow(cli, group)),
    )}`;
}

function groupRow(cli: string, group: DeadLetterList['counts'][number]): [Html, ...Html[]] {
  const { topic, reason, count } = group;
  const redrive = `${cli} dead-letters redrive --topic ${shellWord(topic)} --reason ${shellWord(reason)}`;
  return [
    link({ topic }, topic),
    link({ reason }, reason),
    link({ topic, reason }, numberCell(count)),
    commandToCopy(redrive),
  ];
}

/** The latest dead letters, without secrets and personal data, and the command that lists more of them. */
function lettersTable(
  cli: string,
  { topic, reason }: LetterQuery,
  { deadLetters, total }: DeadLetterList,
): Html {
  if (total === 0) return html``;
  const filters = [topic && ` --topic ${shellWord(topic)}`, reason && ` --reason ${shellWord(reason)}`];
  const list = `${cli} dead-letters list${filters.filter(Boolean).join('')} --limit 1000`;
  return html`${table(
    total > deadLetters.length
      ? `The latest ${counted(deadLetters.length, 'dead letter')}`
      : 'The latest first',
    ['Dead letter', 'Key', 'Detail', "Kafka's time"],
    deadLetters.map((letter) => [
      link({ id: letter.id }, letter.id),
      keyLink(letter),
      html`${letter.reason}: ${letter.detail}`,
      timeOf(letter.recordAt),
    ]),
  )}
  ${total > deadLetters.length ? html`<p>More of them: ${commandToCopy(list)}</p>` : html``}`;
}

/** The key, as a link to the explanation of its entity. Only an id is shown as it is. */
const keyLink = ({ key }: DeadLetterDetails): Html =>
  /^(<|null$|unknown$)/.test(key) ? html`${key}` : html`<a href="/explain?id=${key}">${key}</a>`;

function renderLetter(shown: DeadLetterDetails, cli: string): Html {
  const next = verbFor(shown.reason);
  const run = (verb: string) => commandToCopy(`${cli} dead-letters ${verb} ${shellWord(shown.id)}`);
  const purge = html`no release can apply it. Once the source has corrected the entity: ${run('purge')}`;
  const facts: [name: string, value: Html][] = [];
  // The heading names the record, which is the first row.
  const [, ...rows] = deadLetterRows(shown);
  for (const [name, value] of rows) {
    if (value !== null) facts.push([name, name === 'key' ? keyLink(shown) : withAges(value)]);
  }
  facts.push(['next', next === 'purge' ? purge : run(next)]);
  if (shown.bytes !== null) facts.push(['bytes', run('show --raw')]);
  return html`<p>${link({}, 'All dead letters')}</p>
    <h2>${breakable(shown.id)}</h2>
    ${definitions(facts)}`;
}
