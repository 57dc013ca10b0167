import { type Html, html } from '../../../shared/pages/html.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';
import type { GenerationReport } from '../../operations/report.ts';
import { duration } from '../layout.ts';

type Progress = Pick<GenerationReport, 'topics' | 'lag'>;

/** A step of a build; `done` is the finished part, from 0 to 1. */
type BuildStep = { name: string; done: number; text: string };

const finished = { done: 1, text: 'done' };

const sum = ({ topics }: Progress, field: 'position' | 'end' | 'recordsPerSecond') =>
  topics.reduce((total, topic) => total + topic[field], 0);

/**
 * `2 a second, 28 min left`. The time left is that of all records at the present rate, but not less than that of the
 * slowest topic. Empty without a rate.
 */
export function paceText(progress: Progress): string {
  const rate = sum(progress, 'recordsPerSecond');
  if (rate === 0) return '';
  const perSecond = `${digits(Math.max(1, rate))} a second`;
  if (progress.lag === 0) return perSecond;
  const secondsOfTopics = progress.topics.map(({ secondsLeft }) => secondsLeft ?? 0);
  const longestSeconds = Math.max(progress.lag / rate, ...secondsOfTopics);
  return `${perSecond}, ${duration(longestSeconds)} left`;
}

/** A step that is still in progress counts as done by at most this part, however few records are left. */
const doneInProgressMax = 0.999;

/** The step that applies everything up to the end of the load, or of the log. */
function loadStep(progress: Progress, name: string): BuildStep {
  const position = sum(progress, 'position');
  const end = sum(progress, 'end');
  const records = `${digits(position)} of ${counted(end, 'record')}`;
  const text = [records, paceText(progress)].filter(Boolean).join(', ');
  return { name, done: end === 0 ? 1 : Math.min(position / end, doneInProgressMax), text };
}

/** The step that applies the records that came after the start. They wait while the build loads. */
function catchUpStep(build: GenerationReport): BuildStep {
  const name = 'Catch up';
  if (build.state === 'building')
    return { name, done: 0, text: `${counted(build.afterLoad, 'record')} so far` };
  if (build.state === 'ready') return { name, ...finished };
  return loadStep(build, name);
}

/** The steps of a build up to its promotion. The first that is not done is the current one. */
function stepsOf(build: GenerationReport, differences: number | undefined): BuildStep[] {
  return [
    build.state === 'building' ? loadStep(build, 'Load') : { name: 'Load', ...finished },
    catchUpStep(build),
    {
      name: 'Compare',
      done: differences === 0 ? 1 : 0,
      text: differences === undefined ? 'not yet' : counted(differences, 'unintended difference'),
    },
    { name: 'Promote', done: 0, text: 'not yet' },
  ];
}

/** The steps of a build. `differences`: the number that the last comparison found; undefined before a comparison. */
export const buildSteps = (build: GenerationReport, differences: number | undefined): Html =>
  stepper(build, stepsOf(build, differences));

/** The progress of a generation's first load. */
export const firstLoad = (generation: GenerationReport): Html =>
  stepper(generation, [loadStep(generation, 'First load')]);

function stepper({ number }: GenerationReport, steps: BuildStep[]): Html {
  const current = steps.find(({ done }) => done < 1);
  const markOf = ({ done }: BuildStep, index: number): string => {
    if (done === 1) return '✓ ';
    return steps.length > 1 ? `${index + 1}. ` : '';
  };
  return html`<ol class="stepper">
    ${steps.map(
      (step, index) =>
        html`<li
          class="${step.done === 1 ? 'done' : ''}"
          ${step === current ? html`aria-current="step"` : html``}
        >
          <strong>${markOf(step, index)}${step.name}</strong>
          <progress
            max="1"
            value="${step.done.toFixed(3)}"
            aria-label="Generation ${number}: ${step.name}"
          ></progress>
          <small>${step.text}</small>
        </li>`,
    )}
  </ol>`;
}
