import { type ComparisonReport, isBuild, type Transition } from '../../../shared/control/generations.ts';
import { type Html, html, table } from '../../../shared/pages/html.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { blockingFindings, type Finding, passedChecks } from '../../operations/findings.ts';
import { changeText } from '../../operations/rebuild/transitions.ts';
import type { GenerationReport } from '../../operations/report.ts';
import { ago, commandToCopy, definitions, freshness, type Page, secondsCell, withAges } from '../layout.ts';
import type { Sources } from '../sources.ts';
import { buildSteps } from './build-steps.ts';
import { findingCards, orAccept } from './cards.ts';
import { topicPath } from './topics.ts';

/**
 * Every generation, the served one first: the steps of a build, the checks before a switch, and the switches so far.
 */
export const generationsPage = ({ overview, commands }: Sources): Page => ({
  path: '/generations',
  title: 'Generations',
  regions: async () => {
    const reading = await overview();
    const fresh = freshness(reading);
    if (!reading.value) return { generations: html`<p>No generation is known yet.</p>`, fresh };
    const { facts, findings, report } = reading.value;
    const { generations = [], history = [] } = facts.registry ?? {};
    const comparisons = new Map(generations.map((registered) => [registered.number, registered.report]));
    const sections = report.generations.map((generation) =>
      generationSection(findings, generation, comparisons.get(generation.number)),
    );
    const isBuilding = report.generations.some(isBuild);
    const start = commandToCopy(`${commands.cli} rebuild start`);
    return {
      generations: html`${sections} ${isBuilding ? html`` : html`<p>To build another one: ${start}</p>`}`,
      history: history.length === 0 ? html`` : historyTable(history, facts.now, commands.cli),
      fresh,
    };
  },
});

/** The step by which an operator may serve a generation in this state; null if no step can. */
function switchStep(state: GenerationReport['state']): 'promote' | 'rollback' | null {
  if (state === 'ready') return 'promote';
  return state === 'standby' ? 'rollback' : null;
}

function generationSection(
  all: Finding[],
  generation: GenerationReport,
  report: ComparisonReport | undefined,
): Html {
  const { number, state, condition } = generation;
  const step = switchStep(state);
  const failed = step ? blockingFindings(all, number, step) : [];
  // The list of checks has the findings about the step. `next` would contradict a failed check.
  const others = generation.findings.filter(({ name, blocks }) => {
    if (name === 'next') return failed.length === 0;
    return !(step && blocks.includes(step));
  });
  const facts: [name: string, value: Html | string][] = [
    ['Lag', lagCell(generation)],
    ['Version', `projection version ${generation.projectionVersion}`],
  ];
  if (report) facts.push(['Comparison', comparisonText(report)]);
  return html`<h2>Generation ${number}: ${state}${condition === state ? '' : `, ${condition}`}</h2>
    ${isBuild(generation) ? buildSteps(generation, report?.differences) : html``} ${definitions(facts)}
    ${findingCards(others, number)} ${step ? checksList(failed, all, number, step, report) : html``}`;
}

function lagCell({ number, topics, lag, lagSeconds }: GenerationReport): Html {
  const isUnknown = topics.some((topic) => topic.lag === null);
  const records = isUnknown ? 'an unknown number of records' : counted(lag, 'record');
  return html`${secondsCell(lagSeconds)}, <a href="${topicPath(number)}">${records} to apply</a>`;
}

const comparisonText = ({ compared, differences, expected, at, by, against }: ComparisonReport): Html =>
  html`${counted(compared, 'document')} compared with generation ${against}:
  ${counted(differences, 'unintended difference')}, ${counted(expected, 'intended difference')}; by ${by},
  ${ago(at)}`;

/** The failed checks before a step, each with its command, then the passed ones. */
function checksList(
  failed: Finding[],
  all: Finding[],
  generation: number,
  step: 'promote' | 'rollback',
  report: ComparisonReport | undefined,
): Html {
  const passed = passedChecks(all, generation, step);
  return html`<ul class="checks">
      ${failed.map((finding) => failedCheck(finding, report))}
    </ul>
    <details id="checks-${generation}">
      <summary id="open-checks-${generation}">
        Checks before a ${step === 'promote' ? 'promotion' : step}: ${passed.length} of
        ${passed.length + failed.length} pass
      </summary>
      <ul class="checks">
        ${passed.map(
          ({ isAccepted, text }) =>
            html`<li><span class="finding good">${isAccepted ? '✓ accepted' : '✓'}</span> ${text}</li>`,
        )}
      </ul>
    </details>`;
}

/** A comparison that has found differences is a failed check. Without one, the check is only not made yet. */
function failedCheck(
  { name, severity, text, fix, accept }: Finding,
  report: ComparisonReport | undefined,
): Html {
  const hasDifferences = name === 'compared' && report !== undefined;
  const isNotYet = severity === 'progress' && !hasDifferences;
  const mark = isNotYet
    ? html`<span class="finding warn">○ not yet</span>`
    : html`<span class="finding bad">✗ failed</span>`;
  return html`<li>${mark} ${withAges(text)} ${fix ? commandToCopy(fix) : html``} ${orAccept(accept)}</li>`;
}

/** At most this many steps are shown, the latest first. */
const historyMax = 20;

/** One row for each step of an operator, because a promotion changes two generations together. */
function stepRow([first, ...others]: [Transition, ...Transition[]], now: Date): [Html, ...Html[]] {
  const texts = [first, ...others].map(
    (change) => html`<span class="whole">${change.generation}: ${changeText(change)}</span> `,
  );
  return [ago(first.at, now), html`${texts}`, html`${first.by}`, html`${first.why}`];
}

function historyTable(history: Transition[], now: Date, cli: string): Html {
  const bySteps = Map.groupBy(history, ({ at, by, why }) => JSON.stringify([at, by, why]));
  const steps = [...bySteps.values()] as [Transition, ...Transition[]][];
  const isCut = steps.length > historyMax;
  const more = isCut ? `: the latest ${historyMax} of ${steps.length} changes` : '';
  const shown = steps.slice(-historyMax).toReversed();
  const historyRows = shown.map((changes) => stepRow(changes, now));
  return html`${table(`The history of the generations${more}`, ['Time', 'Generation', 'By', 'Why'], historyRows)}
  ${isCut ? commandToCopy(`${cli} rebuild history`) : html``}`;
}
