import { type ComparisonReport, isBuild, type Transition } from '../../../shared/control/generations.ts';
import { type Html, html, table } from '../../../shared/pages/html.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { blockingFindings, type Finding, passedChecks } from '../../operations/findings.ts';
import { changeText } from '../../operations/rebuild/transitions.ts';
import type { GenerationReport } from '../../operations/report.ts';
import { ago, command, definitions, freshness, type Page, seconds, withAges } from '../layout.ts';
import type { Sources } from '../sources.ts';
import { buildSteps } from './build-steps.ts';
import { cards, orAccept } from './cards.ts';
import { topicPath } from './topics.ts';

/**
 * Every generation, the served one first: the steps of a build, the checks before a switch, and the switches so far.
 */
export const generationsPage = ({ overview, commands }: Sources): Page => ({
  path: '/generations',
  title: 'Generations',
  regions: async () => {
    const now = await overview();
    const fresh = freshness(now);
    if (!now.value) return { generations: html`<p>No generation is known yet.</p>`, fresh };
    const { facts, findings, report } = now.value;
    const { generations = [], history = [] } = facts.registry ?? {};
    const isBuilding = report.generations.some(isBuild);
    return {
      generations: html`${report.generations.map((one) =>
        section(findings, one, generations.find(({ number }) => number === one.number)?.report),
      )}
      ${isBuilding ? html`` : html`<p>To build another one: ${command(`${commands.cli} rebuild start`)}</p>`}`,
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

function section(all: Finding[], one: GenerationReport, report: ComparisonReport | undefined): Html {
  const { number, state, condition } = one;
  const step = switchStep(state);
  const failed = step ? blockingFindings(all, number, step) : [];
  // The list of checks has the findings about the step. `next` would contradict a failed check.
  const others = one.findings.filter(({ name, blocks }) => {
    if (name === 'next') return failed.length === 0;
    return !(step && blocks.includes(step));
  });
  return html`<h2>Generation ${number}: ${state}${condition === state ? '' : `, ${condition}`}</h2>
    ${isBuild(one) ? buildSteps(one, report?.differences) : html``}
    ${definitions([
      [
        'Lag',
        html`${seconds(one.lagSeconds)},
          <a href="${topicPath(number)}"
            >${one.topics.some(({ lag }) => lag === null) ? 'an unknown number of records' : counted(one.lag, 'record')}
            to apply</a
          >`,
      ],
      ['Version', `projection version ${one.projectionVersion}`],
      ...(report ? ([['Comparison', comparisonText(report)]] satisfies [string, Html][]) : []),
    ])}
    ${cards(others, number)} ${step ? checks(failed, all, number, step, report) : html``}`;
}

const comparisonText = ({ compared, differences, expected, at, by, against }: ComparisonReport): Html =>
  html`${counted(compared, 'document')} compared with generation ${against}:
  ${counted(differences, 'unintended difference')}, ${counted(expected, 'intended difference')}; by ${by},
  ${ago(at)}`;

/** The failed checks before a step, each with its command, then the passed ones. */
function checks(
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
            ${withAges(text)} ${fix ? command(fix) : html``} ${orAccept(accept)}
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

/** One row for each step of an operator: a promotion changes two generations at once. */
const stepRow =
  (now: Date) =>
  (changes: Transition[]): [Html, ...Html[]][] => {
    const [first] = changes;
    if (!first) return [];
    const texts = changes.map(
      (one) => html`<span class="whole">${one.generation}: ${changeText(one)}</span> `,
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
  ${more ? command(`${cli} rebuild history`) : html``}`;
}
