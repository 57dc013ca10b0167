import { html, table, type Html } from '../../../shared/pages/html.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import {
  deadLetterDetails,
  readDeadLetter,
  type DeadLetterList,
} from '../../operations/dead-letters/list.ts';
import type { Commands } from '../../operations/deployment.ts';
import { command, definitions, freshness, type Page } from '../layout.ts';
import type { RenderWithDeadline } from '../readings.ts';
import type { Sources } from '../sources.ts';

/** The dead letters by topic and reason, with an example of each, and one of them in full, without its bytes. */
export const deadLettersPage = (
  { deadLetters, control, prefix, commands }: Sources,
  render: RenderWithDeadline,
): Page => ({
  path: '/dead-letters',
  title: 'Dead letters',
  fixed: async (query) => {
    const id = query.get('id')?.slice(0, idLengthMax);
    if (!id) return html``;
    return render(async () => {
      const shown = deadLetterDetails(await readDeadLetter(control, id), prefix);
      return html`<h2>${shown.id}</h2>
        ${definitions([
          ['Reason', `${shown.reason}: ${shown.detail}`],
          ['Stored', `${shown.count}×, first ${shown.firstAt}, last ${shown.lastAt}`],
          ['Key', shown.key],
          ['Organization', shown.orgId ?? 'unknown'],
          ['Generations', shown.generations.join(', ')],
          [
            'Size',
            `${counted(shown.bytes, 'byte')}${shown.truncated ? ', of which the head is stored' : ''}`,
          ],
          ['Re-drive it', command(`${commands.cli} dead-letters redrive ${shown.id}`)],
          ['Print its bytes', command(`${commands.cli} dead-letters show ${shown.id} --raw`)],
        ])}`;
    });
  },
  regions: async () => {
    const found = await deadLetters.get();
    return {
      groups: found.value ? groups(commands, found.value) : html`<p>No dead letters are known yet.</p>`,
      fresh: freshness(found),
    };
  },
});

const idLengthMax = 300;

const groups = ({ cli }: Commands, { deadLetters, counts, total }: DeadLetterList): Html =>
  total === 0
    ? html`<p class="verdict good">There are no dead letters.</p>`
    : html`<p>
          The column Latest shows no secrets and no personal data. Add ${command('--dry-run')} to a command to
          see its outcome first.
        </p>
        ${table(
          `${counted(total, 'dead letter')}, by topic and reason`,
          ['Topic', 'Reason', 'Number', 'Latest', 'Re-drive them'],
          counts.map(({ topic, reason, count }) => {
            const latest = deadLetters.find((one) => one.topic === topic && one.reason === reason);
            return [
              html`${topic}`,
              html`${reason}`,
              html`${count}`,
              latest ? example(latest) : html`not among the latest ${deadLetters.length}`,
              command(`${cli} dead-letters redrive --topic ${topic} --reason ${reason}`),
            ];
          }),
        )}`;

const example = ({ id, key, orgId, detail, lastAt }: DeadLetterList['deadLetters'][number]): Html =>
  html`<a href="/dead-letters?id=${encodeURIComponent(id)}" id="show-${id}">${id}</a>, key ${key},
    ${orgId ?? 'no organization'}: ${detail} <span class="muted">(${lastAt})</span>`;
