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
    const isBuilding = report.generations.some(isBuild);
    return {
      generations: html`${report.generations.map((one) =>
        generationSection(findings, one, generations.find(({ number }) => number === one.number)?.report),
      )}
      ${isBuilding ? html`` : html`<p>To build another one: ${commandToCopy(`${commands.cli} rebuild start`)}</p>`}`,
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
  return html`<h2>Generation ${number}: ${state}${condition === state ? '' : `, ${condition}`}</h2>
    ${isBuild(generation) ? buildSteps(generation, report?.differences) : html``}
    ${definitions([
      [
        'Lag',
        html`${secondsCell(generation.lagSeconds)},
          <a href="${topicPath(number)}"
            >${generation.topics.some(({ lag }) => lag === null) ? 'an unknown number of records' : counted(generation.lag, 'record')}
            to apply</a
          >`,
      ],
      ['Version', `projection version ${generation.projectionVersion}`],
      ...(report ? ([['Comparison', comparisonText(report)]] satisfies [string, Html][]) : []),
    ])}
    ${findingCards(others, number)} ${step ? checksList(failed, all, number, step, report) : html``}`;
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
      ${failed.map(
        ({ name, severity, text, fix, accept }) =>
          html`<li>
            ${severity === 'progress' && !(name === 'compared' && report) ? html`<span class="finding warn">○ not yet</span>` : html`<span class="finding bad">✗ failed</span>`}
            ${withAges(text)} ${fix ? commandToCopy(fix) : html``} ${orAccept(accept)}
          </li>`,
      )}
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

/** At most this many steps are shown, the latest first. */
const historyMax = 20;

/** One row for each step of an operator, because a promotion changes two generations together. */
const stepRow =
  (now: Date) =>
  (changes: Transition[]): [Html, ...Html[]][] => {
    const [first] = changes;
    if (!first) return [];
    const texts = changes.map(
      (change) => html`<span class="whole">${change.generation}: ${changeText(change)}</span> `,
    );
    return [[ago(first.at, now), html`${texts}`, html`${first.by}`, html`${first.why}`]];
  };

function historyTable(history: Transition[], now: Date, cli: string): Html {
  const steps = [...Map.groupBy(history, ({ at, by, why }) => JSON.stringify([at, by, why])).values()];
  const more = steps.length > historyMax;
  const shown = steps.slice(-historyMax).toReversed();
  return html`${table(
    `The history of the generations${more ? `: the latest ${historyMax} of ${steps.length} changes` : ''}`,
    ['Time', 'Generation', 'By', 'Why'],
    shown.flatMap(stepRow(now)),
  )}
  ${more ? commandToCopy(`${cli} rebuild history`) : html``}`;
}
