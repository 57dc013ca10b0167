import { html, table, type Html } from '../../../shared/pages/html.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';
import {
  isBuild,
  type ComparisonReport,
  type Generation,
  type Transition,
} from '../../../shared/control/generations.ts';
import type { Step } from '../../operations/rules/rule.ts';
import { checklist, type Finding } from '../../operations/findings.ts';
import type { TopicFacts } from '../../operations/partitions.ts';
import { progressText } from '../../operations/progress-text.ts';
import type { GenerationReport } from '../../operations/report.ts';
import { changeText } from '../../operations/rebuild/transitions.ts';
import {
  ago,
  command,
  definitions,
  duration,
  freshness,
  number,
  seconds,
  withAges,
  type Page,
} from '../layout.ts';
import type { Sources } from '../sources.ts';
import { cards } from './overview.ts';

/** Every generation: the steps of a build, the checks before a switch, the next command, and the switches so far. */
export const generationsPage = ({ overview, commands }: Sources): Page => ({
  path: '/generations',
  title: 'Generations',
  regions: async () => {
    const now = await overview.get();
    const fresh = freshness(now);
    if (!now.value) return { generations: html`<p>No generation is known yet.</p>`, fresh };
    const { facts, findings, report } = now.value;
    const { generations = [], history = [] } = facts.registry ?? {};
    const isBuilding = report.generations.some(isBuild);
    return {
      generations: html`${report.generations.map((one) =>
        section(
          findings,
          one,
          generations.find(({ number }) => number === one.number),
        ),
      )}
      ${isBuilding ? html`` : html`<p>To build another one: ${command(`${commands.cli} rebuild start`)}</p>`}`,
      history: history.length === 0 ? html`` : historyTable(history, facts.now, commands.cli),
      fresh,
    };
  },
});

function section(all: Finding[], one: GenerationReport, generation: Generation | undefined): Html {
  const [next] = one.findings.filter(({ remedy }) => remedy !== null);
  const lagging = one.topics.filter(({ lag }) => lag !== 0);
  const step = one.state === 'ready' ? 'promote' : one.state === 'standby' ? 'rollback' : null;
  const others = one.findings.filter((one) => one !== next && !(step && one.blocks.includes(step)));
  const { report } = generation ?? {};
  return html`<h2>Generation ${one.number}: ${one.condition}</h2>
    ${isBuild(one) ? stepper(one, report) : html``}
    ${definitions([
      ['Lag', html`${seconds(one.lagSeconds)}, ${counted(one.lag, 'record')} to apply`],
      ['Version', `projection version ${one.projectionVersion}`],
      ...(report ? ([['Comparison', comparisonText(report)]] satisfies [string, Html][]) : []),
      ...(next
        ? ([['Next', html`${withAges(next.text)} ${command(next.remedy ?? '')}`]] satisfies [string, Html][])
        : []),
    ])}
    ${cards(others)} ${isBuild(one) && lagging.length > 0 ? topicsTable(one, lagging) : html``}
    ${step ? checks(all, one.number, step) : html``}`;
}

type BuildReport = Pick<GenerationReport, 'state' | 'topics' | 'lag' | 'afterLoad'>;

/** A step of a build; `done` is from 0 to 1. */
type BuildStep = { name: string; done: number; text: string };

/** The steps of a build up to its promotion. The first that is not done is the current one. */
function buildSteps({ state, topics, lag, afterLoad }: BuildReport, report?: ComparisonReport): BuildStep[] {
  const sum = (field: 'position' | 'end' | 'recordsPerSecond') =>
    topics.reduce((total, topic) => total + topic[field], 0);
  const [position, end, rate] = [sum('position'), sum('end'), sum('recordsPerSecond')];
  const part = end === 0 ? 1 : position / end;
  const pace = rate > 0 ? `, ${digits(rate)} a second, ${duration(lag / rate)} left` : '';
  const isLoading = state === 'building';
  const isReady = state === 'ready';
  return [
    {
      name: 'Load',
      done: isLoading ? Math.min(part, 0.999) : 1,
      text: isLoading ? `${digits(position)} of ${counted(end, 'record')}${pace}` : 'done',
    },
    {
      name: 'Catch up',
      done: isLoading ? 0 : isReady ? 1 : Math.min(part, 0.999),
      text: isLoading
        ? `${counted(afterLoad, 'record')} so far`
        : isReady
          ? 'done'
          : `${counted(lag, 'record')} left${pace}`,
    },
    {
      name: 'Compare',
      done: report?.differences === 0 ? 1 : 0,
      text: report ? counted(report.differences, 'unintended difference') : 'not yet',
    },
    { name: 'Promote', done: 0, text: 'not yet' },
  ];
}

function stepper(one: BuildReport & { number: number }, report?: ComparisonReport): Html {
  const steps = buildSteps(one, report);
  const current = steps.find(({ done }) => done < 1);
  return html`<ol class="stepper">
    ${steps.map(
      (step) =>
        html`<li
          class="${step.done === 1 ? 'done' : ''}"
          ${step === current ? html`aria-current="step"` : html``}
        >
          <strong>${step.name}</strong>
          <progress
            max="1"
            value="${step.done.toFixed(3)}"
            aria-label="Generation ${one.number}: ${step.name}"
          ></progress>
          <small>${step.text}</small>
        </li>`,
    )}
  </ol>`;
}

const comparisonText = ({ compared, differences, expected, at, by, against }: ComparisonReport): Html =>
  html`${counted(compared, 'document')} compared with generation ${against}:
  ${counted(differences, 'unintended difference')}, ${counted(expected, 'intended difference')}; by ${by},
  ${ago(at)}`;

const topicsTable = ({ number: generation, topics }: GenerationReport, lagging: TopicFacts[]): Html =>
  table(
    `The topics of which generation ${generation} has records to apply`,
    ['Topic', 'Records left', 'Records/s', 'Progress'],
    lagging.map((topic) => [
      html`${topic.topic}`,
      number(topic.lag),
      number(topic.recordsPerSecond),
      html`${progressText(topic, topics)}`,
    ]),
  );

const checks = (all: Finding[], generation: number, step: Step): Html =>
  html`<h3>The checks before generation ${generation} can be served</h3>
    <ul class="checks">
      ${checklist(all, generation, step).map(
        ({ isMet, isWaived, text, remedy }) =>
          html`<li>
            <span class="finding ${isMet ? 'good' : 'bad'}"
              >${isWaived ? '✓ accepted' : isMet ? '✓' : '✗ failed'}</span
            >
            ${text} ${isMet || !remedy ? html`` : command(remedy)}
          </li>`,
      )}
    </ul>`;

/** The latest changes are shown. */
const historyMax = 20;

const historyTable = (history: Transition[], now: Date, cli: string): Html =>
  html`${table(
    `The history of the generations${history.length > historyMax ? `: the latest ${historyMax} of ${history.length} changes` : ''}`,
    ['Time', 'Generation', 'Change', 'By', 'Why'],
    history
      .slice(-historyMax)
      .toReversed()
      .map((one) => [
        ago(one.at, now),
        number(one.generation),
        html`${changeText(one)}`,
        html`${one.by}`,
        html`${one.why}`,
      ]),
  )}
  ${history.length > historyMax ? command(`${cli} rebuild history`) : html``}`;
