import type { Transition } from '../../../shared/control/generations.ts';
import { processText } from '../../../shared/control/processes.ts';
import { digits } from '../../../shared/runtime/counted.ts';
import type { Commands } from '../../operations/deployment.ts';
import { type ComparisonResult, resultText } from '../../operations/rebuild/compare.ts';
import type { Difference } from '../../operations/rebuild/differences.ts';
import type { SwitchResult } from '../../operations/rebuild/switch.ts';
import { changeText } from '../../operations/rebuild/transitions.ts';
import { lines } from '../output.ts';
import { renderFinding } from '../render-report.ts';

export const renderStarted = ({ cli, projector }: Commands, number: number): string =>
  lines([
    `Generation ${number} is registered. Run its projectors next to the ones of the active generation:`,
    `  ${projector(number)}`,
    'Then wait until it is ready, compare it, and promote it:',
    ...['await', 'compare', 'promote'].map((verb) => `  ${cli} rebuild ${verb} ${number}`),
  ]);

export const renderHistory = (history: Transition[]): string =>
  lines(
    history.map(
      (transition) =>
        `${transition.at.toISOString()}  generation ${transition.generation}  ${changeText(transition)}  ` +
        `by ${transition.by}: ${transition.why}`,
    ),
  );

export function renderComparison(number: number, result: ComparisonResult): string {
  const classes = Object.entries(result.counts).map(([name, count]) => `  ${digits(count)} ${name}`);
  return lines([
    `generation ${number}: ${resultText(result)}`,
    ...classes,
    ...result.samples.map(renderDifference),
  ]);
}

/** The field of a whole document is the name of the class, so it is left out. */
const renderDifference = ({ kind, id, class: name, field }: Difference): string =>
  `  ${kind} ${id}  ${name}${field === name ? '' : ` ${field}`}`;

export function renderSwitched(result: SwitchResult): string {
  const { findings, waiting } = result;
  const findingTexts = findings.map((finding) =>
    renderFinding(finding, finding.isAccepted ? 'accepted' : 'FAILED'),
  );
  const replicas = waiting.map((replica) => {
    const stillServed = replica.generation === null ? 'nothing' : `generation ${replica.generation}`;
    return (
      `  the API replica (${processText(replica)}), release ${replica.release}, still serves ${stillServed}: it follows ` +
      'once the new generation has caught up; see its log, and run this again to keep waiting'
    );
  });
  return findingTexts.join('') + lines([outcomeText(result), ...replicas]);
}

function outcomeText({ generation: number, outcome, findings, waiting }: SwitchResult): string {
  switch (outcome) {
    case 'refused':
      return `generation ${number} is not served: nothing was changed`;
    case 'dry-run':
      return findings.every(({ isAccepted }) => isAccepted)
        ? 'dry run: every check passes; nothing was changed'
        : 'dry run: nothing was changed';
    case 'promoted':
    case 'rolled-back':
    case 'was-active':
      return waiting.length === 0
        ? `generation ${number} is served`
        : `generation ${number} is active; some replicas do not serve it yet`;
  }
}
