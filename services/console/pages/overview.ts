import { isBuild } from '../../../shared/control/generations.ts';
import { processText } from '../../../shared/control/processes.ts';
import { type Html, html, table } from '../../../shared/pages/html.ts';
import type { Facts } from '../../operations/facts.ts';
import { type Finding, verdictOf, withoutConsequences } from '../../operations/findings.ts';
import type { GenerationReport } from '../../operations/report.ts';
import {
  ago,
  commandToCopy,
  definitions,
  freshness,
  numberCell,
  type Page,
  secondsCell,
  staleVerdict,
  withAges,
} from '../layout.ts';
import type { Overview, Sources } from '../sources.ts';
import { buildSteps, firstLoad, paceText } from './build-steps.ts';
import { classes, findingCards } from './cards.ts';
import { charts } from './charts.ts';

/** Whether customers get current data, and if not, the reason and the command that helps. */
export const overviewPage = ({ overview, samples }: Sources): Page => ({
  path: '/',
  title: 'Overview',
  regions: async () => {
    const [reading, savedSamples] = await Promise.all([overview(), samples()]);
    const fresh = freshness(reading);
    if (!reading.value)
      return {
        verdict: html`<p class="verdict bad">Unknown: ${reading.problem ?? 'no data'}.</p>`,
        fresh: freshness({ ...reading, problem: null }),
      };
    const { facts, report } = reading.value;
    const active = report.generations.find(({ number }) => number === report.active);
    return {
      ...renderVerdict(reading.value, active, staleVerdict(reading)),
      load: isFirstLoad(active) ? firstLoad(active) : html``,
      tiles: tiles(reading.value, active),
      builds: html`${report.generations.filter(isBuild).map((build) => buildLink(facts, build))}`,
      charts: savedSamples.value ? charts(facts, savedSamples.value) : html``,
      replicas: html`${replicasTable(facts)} ${notCountedList(facts)}`,
      fresh,
    };
  },
});

type Active = GenerationReport | undefined;

/** Whether the active generation has never been complete. The page then shows its progress instead of its lag. */
const isFirstLoad = (active: Active): active is GenerationReport =>
  active?.lagSeconds === null && active.lag > 0 && !hasLostWatermark(active);

const hasLostWatermark = ({ findings }: GenerationReport): boolean =>
  findings.some(({ name }) => name === 'watermark');

/** The verdict, with the command of the finding that it names, and the other findings. */
function renderVerdict({ facts, findings, report }: Overview, active: Active, stale: Html | null) {
  const { finding: namedFinding } = verdictOf(findings, facts);
  // The progress of a first load is shown instead of its lag.
  const isLagOfFirstLoad = ({ name, generation }: Finding) =>
    name === 'lag' && generation === active?.number && isFirstLoad(active);
  const otherFindings = withoutConsequences(findings).filter(
    (finding) => finding.severity !== 'progress' && finding !== namedFinding && !isLagOfFirstLoad(finding),
  );
  const isOnlyLoading = isFirstLoad(active) && otherFindings.every(({ severity }) => severity !== 'bad');
  const verdictClass = isOnlyLoading ? 'warn' : classes[report.verdict];
  const fix = namedFinding?.fix ? commandToCopy(namedFinding.fix) : html``;
  return {
    verdict: stale ?? html`<p class="verdict ${verdictClass}">${withAges(report.sentence)} ${fix}</p>`,
    findings: findingCards(otherFindings),
  };
}

const buildLink = (facts: Facts, build: GenerationReport): Html => {
  const { generation } = facts.generations.find((known) => known.generation.number === build.number) ?? {};
  return html`<h2><a href="/generations">Generation ${build.number}: ${build.condition}</a></h2>
    ${buildSteps(build, generation?.report?.differences)}`;
};

const deadLettersText = ({ deadLetters }: Overview['report']): Html =>
  deadLetters === null ? html`not counted` : numberCell(deadLetters);

/** The parts that MongoDB refused to count. */
const notCountedList = ({ notCounted }: Facts): Html =>
  html`${notCounted.map(({ part, reason }) => html`<p class="muted">Not counted: ${part} (${reason})</p>`)}`;

function tiles({ facts, findings, report }: Overview, active: Active): Html {
  /** The CSS class of the worst of these findings, of the system and of the served generation. */
  const worstClass = (...names: Finding['name'][]): string => {
    const [worst] = findings.filter(
      ({ name, generation }) => names.includes(name) && [null, report.active].includes(generation),
    );
    return worst ? classes[worst.severity] : '';
  };
  const members = facts.kafka.members.get(report.active ?? 0);
  const lagClass = active?.lagSeconds === null ? '' : worstClass('lag');
  return definitions(
    [
      ['Data-As-Of', dataAsOf(active, facts.now), lagClass],
      ['Records to apply', recordsToApply(active), worstClass('kafka', 'leaders')],
      [
        'Dead letters',
        html`<a href="/dead-letters">${deadLettersText(report)}</a>`,
        worstClass('dead-letters'),
      ],
      ['API replicas', numberCell(facts.replicas.length), worstClass('api')],
      [
        'Projectors',
        html`<a href="/lag">${numberCell(members?.length ?? null)}</a>`,
        worstClass('projectors', 'group'),
      ],
      ['Generation', html`<a href="/generations">${report.active ?? 'none yet'}</a>`],
    ],
    'tiles',
  );
}

function dataAsOf(active: Active, now: Date): Html {
  const lagSeconds = active?.lagSeconds ?? null;
  const watermark = lagSeconds === null ? null : active?.watermark;
  return html`${watermark ? ago(watermark, now) : 'none yet'} <small>lag ${secondsCell(lagSeconds)}</small>`;
}

/** The number of records, and how fast it falls. The first load shows its pace above the tiles. */
function recordsToApply(active: Active): Html {
  const isLagKnown = active?.topics.every(({ lag }) => lag !== null);
  if (!active || !isLagKnown) return html`<a href="/lag">${numberCell(null)}</a> <small></small>`;
  const pace = isFirstLoad(active) ? '' : paceText(active);
  return html`<a href="/lag">${numberCell(active.lag)}</a> <small>${pace}</small>`;
}

const replicasTable = ({ replicas }: Facts): Html =>
  replicas.length === 0
    ? html``
    : table(
        'The API replicas',
        ['Replica', 'Version', 'Generation', 'Requests in progress'],
        replicas.map((replica) => {
          const { release, generation, inProgress } = replica;
          const requestCount = inProgress.reduce((sum, { requests }) => sum + requests, 0);
          return [
            html`${processText(replica)}`,
            html`${release}`,
            generation === null ? html`none yet` : numberCell(generation),
            numberCell(requestCount),
          ];
        }),
      );
