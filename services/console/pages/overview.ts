import { html, table, type Html } from '../../../shared/pages/html.ts';
import type { Facts } from '../../operations/facts.ts';
import type { Finding } from '../../operations/findings.ts';
import { deadLettersMax } from '../../operations/facts.ts';
import { charts } from './charts.ts';
import {
  ago,
  command,
  definitions,
  freshness,
  number,
  seconds,
  staleness,
  withAges,
  type Page,
} from '../layout.ts';
import type { Overview, Sources } from '../sources.ts';

/** Whether customers get current data, and if not, the reason and the command that helps. */
export const overviewPage = ({ overview, samples }: Sources): Page => ({
  path: '/',
  title: 'Overview',
  regions: async () => {
    const [now, saved] = await Promise.all([overview.get(), samples.get()]);
    const fresh = freshness(now);
    if (!now.value) return { verdict: html`<p class="verdict bad">Unknown.</p>`, fresh };
    const { facts, findings, report } = now.value;
    return {
      verdict: staleness(now) ?? html`<p class="verdict ${classes[report.verdict]}">${report.sentence}</p>`,
      findings: cards(findings.filter(({ severity }) => severity !== 'progress')),
      tiles: tiles(now.value),
      charts: saved.value ? charts(facts, saved.value) : html``,
      replicas: replicasTable(facts),
      fresh,
    };
  },
});

const classes = { well: 'good', progress: 'good', attention: 'warn', bad: 'bad' } as const;

/** Findings, each with the command that helps. */
export const cards = (findings: Finding[]): Html =>
  html`<ul class="cards">
    ${findings.map(
      ({ generation, severity, text, remedy }) =>
        html`<li class="finding ${classes[severity]}">
          ${generation === null ? '' : `generation ${generation}: `}${withAges(text)}
          ${remedy === null ? html`` : command(remedy)}
        </li>`,
    )}
  </ul>`;

function tiles({ facts, report }: Overview): Html {
  const active = report.generations.find((one) => one.number === report.active);
  const perSecond = active?.topics.reduce((sum, one) => sum + one.recordsPerSecond, 0) ?? 0;
  const more = report.deadLetters >= deadLettersMax ? ' or more' : '';
  return definitions(
    [
      [
        'Data-As-Of',
        html`${active?.watermark && active.lagSeconds !== null ? ago(active.watermark, facts.now) : 'none yet'}
          <small>lag ${seconds(active?.lagSeconds ?? null)}</small>`,
      ],
      ['Records to apply', html`<a href="/lag">${number(active?.lag ?? null)}</a>`],
      ['Records a second', number(perSecond)],
      ['Dead letters', html`<a href="/dead-letters">${number(report.deadLetters)}${more}</a>`],
      ['API replicas', number(facts.replicas.length)],
      [
        'Projectors',
        html`<a href="/lag">${number(facts.kafka.members.get(report.active ?? 0)?.length ?? null)}</a>`,
      ],
      ['Generation', html`<a href="/generations">${report.active ?? 'none yet'}</a>`],
    ],
    'tiles',
  );
}

const replicasTable = ({ replicas }: Facts): Html =>
  replicas.length === 0
    ? html``
    : table(
        'The API replicas',
        ['Replica', 'Version', 'Generation', 'Requests in progress'],
        replicas.map(({ host, pid, release, generation, inProgress }) => [
          html`${host} (process ${pid})`,
          html`${release}`,
          generation === null ? html`none yet` : number(generation),
          number(inProgress.reduce((sum, { requests }) => sum + requests, 0)),
        ]),
      );
