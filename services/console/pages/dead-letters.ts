import { type Html, html, table } from '../../../shared/pages/html.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { countedRows, isCountedId, readCounted } from '../../operations/dead-letters/counted.ts';
import {
  type DeadLetterDetails,
  deadLetterDetails,
  type DeadLetterList,
  deadLetterRows,
  readDeadLetter,
} from '../../operations/dead-letters/list.ts';
import { lastStep } from '../../operations/dead-letters/redrive-selected.ts';
import { shellWord } from '../../operations/deployment.ts';
import {
  breakable,
  command,
  definitions,
  freshness,
  number,
  type Page,
  staleness,
  timeOf,
  withAges,
} from '../layout.ts';
import { type LetterQuery, lettersMax, type OperationDeps, type Sources } from '../sources.ts';

const path = '/dead-letters';

/**
 * The dead letters by topic and reason, then one by one, each with its next step; or one of them, without its bytes.
 */
export const deadLettersPage = (sources: Sources): Page => ({
  path,
  title: 'Dead letters',
  fixed: (query) => {
    const id = query.get('id');
    return id ? sources.render(`dead letter ${id}`, (deps) => letterInFull(deps, sources, id)) : html``;
  },
  regions: async (query): Promise<Record<string, Html>> => {
    if (query.get('id')) return {};
    const given = (name: string) => query.get(name) || undefined;
    const wanted = { topic: given('topic'), reason: given('reason'), after: query.get('after') ?? '' };
    const found = await sources.deadLetters(wanted);
    const stale = staleness(found);
    return {
      stale: stale ?? html``,
      groups: found.value
        ? html`${groups(sources.commands.cli, wanted, found.value, stale === null)}
          ${countedOnly(found.value)} ${letters(wanted, found.value)}`
        : html`<p>No dead letters are known yet.</p>`,
      fresh: freshness(found),
    };
  },
});

const link = (query: Partial<LetterQuery> & { id?: string }, content: Html | string): Html => {
  const known = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = new URLSearchParams(known).toString();
  return html`<a href="${path}${search && `?${search}`}">${content}</a>`;
};

function groups(
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
      Re-drive them once their cause is mended: a deploy, or a correction at the source. A record that is
      refused again stays here. Add <code>--dry-run</code> to see the outcome first.
    </p>
    ${table(
      `${counted(total, 'dead letter')}, by topic and reason`,
      ['Topic', 'Reason', 'Number', 'Next'],
      counts.map((one) => [
        link({ topic: one.topic }, one.topic),
        link({ reason: one.reason }, one.reason),
        link({ topic: one.topic, reason: one.reason }, number(one.count)),
        command(
          `${cli} dead-letters redrive --topic ${shellWord(one.topic)} --reason ${shellWord(one.reason)}`,
        ),
      ]),
    )}`;
}

/** The dead letters of which only the offsets are stored. */
function countedOnly({ counted: entries }: DeadLetterList): Html {
  if (entries.length === 0) return html``;
  return html`${table(
    'Alike ones that are counted: a redrive reads their records from Kafka',
    ['Counted', 'Number', 'Offsets', 'Detail', 'Next'],
    entries.map((one) => [
      link({ id: one.id }, one.id),
      number(one.count),
      html`${one.firstOffset} to ${one.lastOffset}`,
      html`${one.reason}: ${one.detail}`,
      html`${one.next}`,
    ]),
  )}`;
}

/** One page of the dead letters, without secrets and personal data. */
function letters(query: LetterQuery, { deadLetters }: DeadLetterList): Html {
  if (deadLetters.length === 0) return html``;
  const shown = deadLetters.slice(0, lettersMax);
  const last = shown.at(-1);
  return html`${table(
      `${counted(shown.length, 'dead letter')}${query.after && ` after ${query.after}`}, in the order of their ids`,
      ['Dead letter', 'Key', 'Detail', "Kafka's time", 'Next'],
      shown.map((one) => [
        link({ id: one.id }, one.id),
        keyLink(one),
        html`${one.reason}: ${one.detail}`,
        timeOf(one.recordAt),
        html`${one.next ?? 'redrive by another release'}`,
      ]),
    )}
    <p>
      ${query.after ? link({ ...query, after: '' }, 'First page') : html``}
      ${last && deadLetters.length > lettersMax ? link({ ...query, after: last.id }, 'Next page') : html``}
    </p>`;
}

/** The key, as a link to the explanation of its entity. Only an id is shown as it is. */
const keyLink = ({ key }: DeadLetterDetails): Html =>
  /^(<|null$)/.test(key) ? html`${key}` : html`<a href="/explain?id=${key}">${key}</a>`;

async function countedInFull(deps: OperationDeps, { commands }: Sources, id: string): Promise<Html> {
  const found = await readCounted(deps.control, id);
  return html`<p>${link({}, 'All dead letters')}</p>
    <h2>${breakable(id)}</h2>
    ${definitions([
      ...countedRows(found).map(([name, value]): [string, Html] => [name, withAges(value)]),
      ['next', command(`${commands.cli} dead-letters ${found.next} ${shellWord(id)}`)],
    ])}`;
}

async function letterInFull(deps: OperationDeps, sources: Sources, id: string): Promise<Html> {
  if (isCountedId(id)) return countedInFull(deps, sources, id);
  const { commands } = sources;
  const letter = await readDeadLetter(deps.control, id);
  const shown = deadLetterDetails(letter, deps.config.TOPIC_PREFIX);
  const next = await lastStep(deps, letter);
  const run = (verb: string) => `${commands.cli} dead-letters ${verb} ${shellWord(shown.id)}`;
  const purge = html`a redrive is refused. Once the source has corrected the entity: ${command(run('purge'))}`;
  const redrive = html`${next ? '' : 'by a release that accepts it:'} ${command(run('redrive'))}`;
  return html`<p>${link({}, 'All dead letters')}</p>
    <h2>${breakable(shown.id)}</h2>
    ${definitions([
      // The heading is the record.
      ...deadLetterRows(shown)
        .slice(1)
        .map(([name, value]): [string, Html] => [name, name === 'key' ? keyLink(shown) : withAges(value)]),
      ['next', next === 'purge' ? purge : redrive],
      ['bytes', command(`${run('show')} --raw`)],
    ])}`;
}
