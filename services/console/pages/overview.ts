import { isBuild } from '../../../shared/control/generations.ts';
import { type Html, html, table } from '../../../shared/pages/html.ts';
import type { Facts } from '../../operations/facts.ts';
import { type Finding, verdict, withoutConsequences } from '../../operations/findings.ts';
import type { GenerationReport } from '../../operations/report.ts';
import {
  ago,
  command,
  definitions,
  freshness,
  number,
  type Page,
  seconds,
  staleness,
  withAges,
} from '../layout.ts';
import type { Overview, Sources } from '../sources.ts';
import { buildSteps, firstLoad, paceText } from './build-steps.ts';
import { cards, classes } from './cards.ts';
import { charts } from './charts.ts';

/** Whether customers get current data, and if not, the reason and the command that helps. */
export const overviewPage = ({ overview, samples }: Sources): Page => ({
  path: '/',
  title: 'Overview',
  regions: async () => {
    const [now, saved] = await Promise.all([overview(), samples()]);
    const fresh = freshness(now);
    if (!now.value)
      return {
        verdict: html`<p class="verdict bad">Unknown: ${now.problem ?? 'no data'}.</p>`,
        fresh: freshness({ ...now, problem: null }),
      };
    const { facts, report } = now.value;
    const active = report.generations.find((one) => one.number === report.active);
    return {
      ...renderVerdict(now.value, active, staleness(now)),
      load: isFirstLoad(active) ? firstLoad(active) : html``,
      tiles: tiles(now.value, active),
      builds: html`${report.generations.filter(isBuild).map((build) => buildLink(facts, build))}`,
      charts: saved.value ? charts(facts, saved.value) : html``,
      replicas: html`${replicasTable(facts)} ${notCountedList(facts)}`,
      fresh,
    };
  },
});

type Active = GenerationReport | undefined;

/** Whether the active generation has never been complete, so that its progress is shown instead of its lag. */
const isFirstLoad = (active: Active): active is GenerationReport =>
  active?.lagSeconds === null && active.lag > 0 && !active.findings.some(({ name }) => name === 'watermark');

/** The verdict, with the command of the finding that it names, and the other findings. */
function renderVerdict({ facts, findings, report }: Overview, active: Active, stale: Html | null) {
  const { finding: named } = verdict(facts, findings);
  // The progress of a first load is shown instead of its lag.
  const isLoad = ({ name, generation }: Finding) =>
    name === 'lag' && generation === active?.number && isFirstLoad(active);
  const rest = withoutConsequences(findings).filter(
    (one) => one.severity !== 'progress' && one !== named && !isLoad(one),
  );
  const isLoading = isFirstLoad(active) && rest.every(({ severity }) => severity !== 'bad');
  return {
    verdict:
      stale ??
      html`<p class="verdict ${isLoading ? 'warn' : classes[report.verdict]}">
        ${withAges(report.sentence)} ${named?.fix ? command(named.fix) : html``}
      </p>`,
    findings: cards(rest),
  };
}

const buildLink = (facts: Facts, build: GenerationReport): Html => {
  const { generation } = facts.generations.find((one) => one.generation.number === build.number) ?? {};
  return html`<h2><a href="/generations">Generation ${build.number}: ${build.condition}</a></h2>
    ${buildSteps(build, generation?.report?.differences)}`;
};

const deadLettersText = ({ deadLetters }: Overview['report']): Html =>
  deadLetters === null ? html`not counted` : number(deadLetters);

/** The parts that MongoDB refused to count. */
const notCountedList = ({ notCounted }: Facts): Html =>
  html`${notCounted.map(({ part, reason }) => html`<p class="muted">Not counted: ${part} (${reason})</p>`)}`;

function tiles({ facts, findings, report }: Overview, active: Active): Html {
  /** The class of the worst of these findings, of the system and of the served generation. */
  const state = (...names: Finding['name'][]): string => {
    const [worst] = findings.filter(
      ({ name, generation }) => names.includes(name) && [null, report.active].includes(generation),
    );
    return worst ? classes[worst.severity] : '';
  };
  const isLagKnown = active?.topics.every(({ lag }) => lag !== null);
  const members = facts.kafka.members.get(report.active ?? 0);
  return definitions(
    [
      [
        'Data-As-Of',
        html`${active?.watermark && active.lagSeconds !== null ? ago(active.watermark, facts.now) : 'none yet'}
          <small>lag ${seconds(active?.lagSeconds ?? null)}</small>`,
        active?.lagSeconds === null ? '' : state('lag'),
      ],
      [
        'Records to apply',
        html`<a href="/lag">${number(active && isLagKnown ? active.lag : null)}</a>
          <small>${active && isLagKnown && !isFirstLoad(active) ? paceText(active) : ''}</small>`,
        state('kafka', 'leaders'),
      ],
      ['Dead letters', html`<a href="/dead-letters">${deadLettersText(report)}</a>`, state('dead-letters')],
      ['API replicas', number(facts.replicas.length), state('api')],
      [
        'Projectors',
        html`<a href="/lag">${number(members?.length ?? null)}</a>`,
        state('projectors', 'group'),
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
